/** Reads the output of a child process in lines of bounded length. */
export interface LineHandler {
  onLine: (line: string) => void
  onEnd: () => void
}

/**
 * Reads the lines that are not blank. A longer line ends the reading, or is truncated and its rest skipped. Without free
 * file descriptors there is no stream.
 */
export function readLines(
  stream: NodeJS.ReadableStream | null | undefined,
  { length_max, truncates }: { length_max: number; truncates: boolean },
  { onLine, onEnd }: LineHandler,
): void {
  if (stream == null) return onEnd()
  let rest: string[] = []
  let length = 0
  let over = false
  function begin(part: string): void {
    rest = []
    length = 0
    grow(part)
  }
  function grow(part: string): void {
    const kept = truncates ? part.slice(0, length_max - length) : part
    if (kept !== '') rest.push(kept)
    length += kept.length
  }
  function took(next: string): void {
    const line = rest.join('')
    if (line.trim() !== '') onLine(line)
    begin(next)
  }
  const end = () => {
    if (over) return
    over = true
    if (length <= length_max) took('')
    onEnd()
  }
  stream.setEncoding('utf8')
  stream.on('data', (text: string) => {
    if (over) return
    const [first = '', ...others] = text.split('\n')
    grow(first)
    for (const next of others) took(next)
    if (length > length_max) end()
  })
  stream.on('end', end)
  stream.on('error', end)
}
