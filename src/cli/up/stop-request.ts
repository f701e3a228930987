/** Requests to end `up` (Ctrl-C, SIGTERM), and the question about open windows that may take one back. */
import { canAsk, confirm } from '../ask.ts'
import type { Cli, Invocation } from '../cli.ts'
import { describeWindows, openWindows } from '../open-windows.ts'

export interface StopRequest {
  readonly asked: Promise<void>
  isAsked(): boolean
  /** Sent by Ctrl-C at a terminal, so a question can be answered. */
  isByKey(): boolean
  /** The request was cancelled; the next one counts as the first. */
  goOn(): void
  onSecond(call: () => void): void
  forget(): void
}

export function stopRequest(cli: Pick<Cli, 'onTermination'>): StopRequest {
  let count_asked = 0
  let by_key = false
  let ask = (): void => {}
  let second = (): void => {}
  const newRequest = () => new Promise<void>((resolve) => (ask = resolve))
  let asked = newRequest()
  const forget = cli.onTermination((os_signal) => {
    count_asked += 1
    by_key = os_signal === 'SIGINT'
    if (count_asked === 1) ask()
    else second()
  })
  return {
    get asked() {
      return asked
    },
    isAsked: () => count_asked > 0,
    isByKey: () => by_key,
    goOn() {
      count_asked = 0
      second = () => {}
      asked = newRequest()
    },
    onSecond: (call) => void (second = call),
    forget,
  }
}

/**
 * Names the windows that these daemons ring, and asks the person who pressed Ctrl-C at a terminal. Resolves with true at
 * once when a second request comes.
 */
export async function mayStop(
  invocation: Invocation,
  daemons: readonly string[],
  stop: StopRequest,
): Promise<boolean> {
  const { cli, out } = invocation
  // Before the daemons are asked for their windows: one that hangs keeps that waiting.
  const insisted = new Promise<null>((resolve) => stop.onSecond(() => resolve(null)))
  const windows = await Promise.race([openWindows(invocation, daemons), insisted])
  if (windows === null || windows.length === 0) return true
  out.note(describeWindows(windows))
  if (!stop.isByKey() || !canAsk(cli)) return true
  const answered = new AbortController()
  const answer = await Promise.race([confirm(cli, 'Stop?', answered.signal), insisted])
  answered.abort()
  return answer ?? true
}
