/**
 * Whether the process that left a file is still there.
 *
 * The operating system says so: each process listens on a local socket, which goes with it however it ends, and whoever
 * wants to know connects to it. Where the socket cannot be reached from (another machine, another container), a file that
 * is written again every 20 seconds has to do.
 */

import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync, unlinkSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

/** What a writer says about itself. */
export interface Presence {
  /** Names one stay of one writer, for ever. */
  readonly writer: string;
  readonly pid: number;
  readonly host: string;
  /** Milliseconds since 1970. */
  readonly since: number;
  /** Where sockets of this name are the same: the machine since it was started, and the container. */
  readonly machine: string;
  /** Absent where the system has given none. */
  readonly socket?: string | undefined;
}

let socket: Promise<string | undefined> | undefined;
let machine: string | undefined;

/** A new presence of this process. */
export async function present(): Promise<Presence> {
  socket ??= listen();
  machine ??= nameOfMachine();
  return { writer: randomUUID(), pid: process.pid, host: hostname(), since: Date.now(), machine, socket: await socket };
}

/** Whether that process is there; undefined when it cannot be told from here. */
export async function isThere(presence: Presence): Promise<boolean | undefined> {
  machine ??= nameOfMachine();
  if (presence.socket === undefined || presence.machine !== machine) return undefined;
  const client = connect(presence.socket);
  try {
    return await new Promise<boolean>((resolve) => {
      client.once('connect', () => {
        resolve(true);
      });
      client.once('error', (error: NodeJS.ErrnoException) => {
        // Anything else (no permission, a full backlog) comes from somebody who listens.
        resolve(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT');
      });
    });
  } finally {
    client.destroy();
  }
}

/** Listens for as long as the process lives, without keeping it alive. */
function listen(): Promise<string | undefined> {
  const name = `palimpsest-${randomUUID()}`;
  const [path, isFile] = socketPath(name);
  const server = createServer((client) => client.destroy());
  return new Promise((resolve) => {
    server.once('error', () => {
      resolve(undefined);
    });
    // Exclusive: in a cluster it would else be the primary process that listens.
    server.listen({ path, exclusive: true }, () => {
      server.on('error', () => undefined);
      server.unref();
      if (isFile) process.once('exit', () => removeQuietly(path));
      resolve(path);
    });
  });
}

function socketPath(name: string): [path: string, isFile: boolean] {
  if (process.platform === 'win32') return [`\\\\.\\pipe\\${name}`, false];
  // Linux has names that are no files and leave nothing behind.
  if (process.platform === 'linux') return [`\0${name}`, false];
  // A path has about 100 bytes, and a Mac's temporary directory takes half of them.
  return [join(tmpdir(), `${name.slice(0, 30)}.sock`), true];
}

function nameOfMachine(): string {
  const parts = [hostname(), process.platform];
  if (process.platform === 'linux') {
    parts.push(orEmpty(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()));
    parts.push(orEmpty(() => readlinkSync('/proc/self/ns/net')));
  }
  return parts.join(' ');
}

function orEmpty(read: () => string): string {
  try {
    return read();
  } catch {
    return '';
  }
}

function removeQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Somebody was faster.
  }
}
