/** How messages name things. */

/** A session by its id, quoted, since ids may hold anything. */
export function named(id: string): string {
  return `session ${JSON.stringify(id)}`;
}

/** One line about anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
