/** Server-sent events as they come in, piece by piece. Source: the HTML standard, section 9.2. */
import { LIMITS } from '../../contracts/limits.ts'

const END = /\r?\n\r?\n/
/** What may be the beginning of an end. */
const HALF_AN_END = /(?:\r?\n\r?|\r)$/

/** Each piece is looked through once, however long its event grows. */
export function createEventReader(handlers: {
  /** The data of one event that has some. */
  onData: (data: string) => void
  /** One has more than `LIMITS.bridge_answer_bytes_max`. What comes then should not be read. */
  onTooLarge: () => void
}): { read(text: string): void } {
  let pieces: string[] = []
  let bytes = 0
  let half_an_end = ''
  const keep = (text: string) => {
    pieces.push(text)
    bytes += Buffer.byteLength(text)
  }

  return {
    read(text) {
      const events = (half_an_end + text).split(END)
      const rest = events.pop() as string
      for (const end of events) {
        keep(end)
        const data = eventData(pieces.join(''))
        pieces = []
        bytes = 0
        if (data !== '') handlers.onData(data)
      }
      half_an_end = HALF_AN_END.exec(rest)?.[0] ?? ''
      keep(rest.slice(0, rest.length - half_an_end.length))
      if (bytes > LIMITS.bridge_answer_bytes_max) handlers.onTooLarge()
    },
  }
}

/** The data of the last event of a whole stream that has some. */
export function lastData(stream: string): string | undefined {
  return stream
    .split(END)
    .map(eventData)
    .findLast((data) => data !== '')
}

/** The data lines of one event; a comment has none. */
function eventData(event: string): string {
  return event
    .split(/\r?\n/)
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice('data:'.length).replace(/^ /, ''))
    .join('\n')
}
