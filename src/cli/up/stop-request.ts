/** Requests to stop `up` (Ctrl-C, SIGTERM), and the question about open windows that may cancel one. */
import { canAsk, confirm } from '../ask.ts'
import type { Cli, Invocation } from '../cli.ts'
import { describeWindows, openWindows } from '../open-windows.ts'

export interface StopRequest {
  readonly requested: Promise<void>
  isRequested(): boolean
  /** Returns true for Ctrl-C at a terminal, where a person can answer a question. */
  isByKey(): boolean
  /** Cancels the request. The next one counts as the first. */
  cancel(): void
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
    get requested() {
      return asked
    },
    isRequested: () => count_asked > 0,
    isByKey: () => by_key,
    cancel() {
      count_asked = 0
      second = () => {}
      asked = newRequest()
    },
    onSecond: (call) => void (second = call),
    forget,
  }
}

/**
 * Prints the open windows of these daemons, and asks for confirmation after Ctrl-C at a terminal. Resolves with true as
 * soon as a second request arrives.
 */
export async function mayStop(
  invocation: Invocation,
  daemons: readonly string[],
  stop: StopRequest,
): Promise<boolean> {
  const { cli, out } = invocation
  // Subscribed before the daemons are asked for their windows, because one that hangs delays that.
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
