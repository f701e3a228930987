/** Reads the event stream of an opencode server: lines of the form `data: JSON`. */
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'

export interface EventStreamOptions {
  clock: Pick<Clock, 'after'>
  log: Log
  /** Ends the stream. */
  abort: () => void
  onData: (text: string) => void
}

/** Resolves at the end of the stream, after `abort` was called. Never rejects. */
export async function readEventStream(
  body: AsyncIterable<Uint8Array>,
  { clock, log, abort, onData }: EventStreamOptions,
): Promise<void> {
  const lines = lineSplitter()
  // The server sends a heartbeat every ten seconds, so a silent connection is dead.
  const startSilenceTimer = () => clock.after(LIMITS.opencode_silence_ms, abort)
  let silence_timer = startSilenceTimer()
  try {
    for await (const chunk of body) {
      silence_timer.cancel()
      silence_timer = startSilenceTimer()
      for (const line of lines(chunk)) if (line.startsWith('data:')) onData(line.slice('data:'.length))
    }
  } catch (error) {
    log.debug({ err: error }, 'event stream failed')
  } finally {
    silence_timer.cancel()
    abort()
  }
}

/** Returns a function that takes chunks and returns the lines completed by each. It throws if a line is too long. */
function lineSplitter(): (chunk: Uint8Array) => string[] {
  const decoder = new TextDecoder()
  /** Pieces of the current line, joined once at its end, because a long line arrives in thousands of pieces. */
  let pieces: string[] = []
  let length = 0
  return (chunk) => {
    const [piece = '', ...following] = decoder.decode(chunk, { stream: true }).split('\n')
    pieces.push(piece)
    length += piece.length
    if (length > LIMITS.opencode_event_length_max) throw new Error('event exceeds the maximum length')
    if (following.length === 0) return []
    const rest = following.pop() ?? ''
    const lines = [pieces.join(''), ...following]
    pieces = [rest]
    length = rest.length
    return lines
  }
}
