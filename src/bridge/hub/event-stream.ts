/** The data of server-sent events: of a stream in pieces, and of a complete one. */
import { createParser } from 'eventsource-parser'
import { LIMITS } from '../../contracts/limits/limits.ts'

export function createEventReader(handlers: {
  /** Called with the data of each event that has some. */
  onData: (data: string) => void
  /** Called once for an event longer than `LIMITS.bridge_answer_bytes_max` characters; later text is ignored. */
  onTooLarge: () => void
}): { read(text: string): void } {
  let too_large = false
  const parser = createParser({
    maxBufferSize: LIMITS.bridge_answer_bytes_max,
    onEvent({ data }) {
      if (data !== '') handlers.onData(data)
    },
    onError({ type }) {
      if (type !== 'max-buffer-size-exceeded') return
      too_large = true
      handlers.onTooLarge()
    },
  })
  return {
    read(text) {
      if (!too_large) parser.feed(text)
    },
  }
}

/** Returns the data of the last event that has some, also if the stream ends without a blank line. */
export function lastData(stream: string): string | undefined {
  let last: string | undefined
  const parser = createParser({
    onEvent({ data }) {
      if (data !== '') last = data
    },
  })
  parser.feed(`${stream}\n\n`)
  return last
}
