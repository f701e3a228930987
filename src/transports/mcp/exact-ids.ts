/**
 * Request ids that JavaScript's numbers or the SDK's types cannot represent: 1764391000123456789, 1.5. Internally they are
 * strings with a random prefix; in sent messages they are numbers again, as the client wrote them.
 */
let marked: { begin: string; form: RegExp } | null = null

/** Returns the same id for the same source, so that a cancellation finds its request. */
export function exactId(source: string): string {
  return (marked ??= mark()).begin + source
}

export function isExactId(id: unknown): boolean {
  return marked !== null && typeof id === 'string' && id.startsWith(marked.begin)
}

/** Returns the text of a JSON message with every such id as the client wrote it. */
export function withExactIds(text: string): string {
  if (marked === null || !text.includes(marked.begin)) return text
  return text.replace(marked.form, '$1')
}

function mark(): { begin: string; form: RegExp } {
  const begin = `exact-id-${crypto.randomUUID()}:`
  return { begin, form: new RegExp(`"${begin}(-?[\\d.eE+-]+)"`, 'g') }
}
