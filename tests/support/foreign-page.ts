// In the page: imports a file that it fetches, as it would one that somebody dropped.
import { init } from 'palimpsest/inline';
import { blobSource, detect, importLog } from 'palimpsest/import';

const ready = init();

async function run(url: string): Promise<{ format: string | undefined; logs: string[]; report: unknown }> {
  await ready;
  const blob = await (await fetch(url)).blob();
  const head = new Uint8Array(await blob.slice(0, 65_536).arrayBuffer());
  const { sessions, report } = await importLog(blobSource(new File([blob], url)));
  const decoder = new TextDecoder();
  return { format: detect(head, url)?.format, logs: sessions.map(({ session }) => decoder.decode(session!.headerLine()) + decoder.decode(session!.jsonl())), report };
}

Object.assign(globalThis, { importOf: run });
