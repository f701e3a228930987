/**
 * Ids of requests that JavaScript's numbers or the SDK's types cannot hold: 1764391000123456789, 1.5. Inside they are
 * strings that no client writes; in what is sent they are the numbers again, as they were written.
 */
let marked: { begin: string; form: RegExp } | null = null

/** The same source gives the same id, so that a cancellation finds its request. */
export function exactId(source: string): string {
  return (marked ??= mark()).begin + source
}

export function isExactId(id: unknown): boolean {
  return marked !== null && typeof id === 'string' && id.startsWith(marked.begin)
}

/** The text of a JSON message with every such id as the client wrote it. */
export function withExactIds(text: string): string {
  if (marked === null || !text.includes(marked.begin)) return text
  return text.replace(marked.form, '$1')
}

function mark(): { begin: string; form: RegExp } {
  const begin = `exact-id-${crypto.randomUUID()}:`
  return { begin, form: new RegExp(`"${begin}(-?[\\d.eE+-]+)"`, 'g') }
}
