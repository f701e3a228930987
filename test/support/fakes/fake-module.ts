/** A module inside Claude Code, as seen by the worker's link: it greets, waits for doorbells and reports events. */
import type { ModLink } from '../../../adapters/claude-code/mod-link/mod-link.ts'
import type { Hello, ModEvent, WaitAnswer } from '../../../adapters/claude-code/mod/messages.ts'
import { PROTOCOL } from '../../../adapters/claude-code/mod/protocol.ts'

export interface FakeModule {
  epoch(): string
  report(...events: ModEvent[]): boolean
  /** Asks for a doorbell once; `holds` are those that it has. */
  wait(holds?: string[], signal?: AbortSignal, view?: number): Promise<WaitAnswer | null>
  /** Keeps asking while attached, and calls `onBell` for each doorbell. */
  listen(onBell: (bell: NonNullable<WaitAnswer['bell']>) => void): void
}

export const HELLO: Hello = {
  protocol: PROTOCOL,
  version: '0.1.0',
  client_version: '2.1.332',
  interactive: true,
  session_id: 'session-1',
  busy: null,
  past: 0,
}

export function fakeModule(link: ModLink, hello: Partial<Hello> = {}): FakeModule {
  const answer = link.hello({ ...HELLO, ...hello })
  if (answer.mode !== 'on') throw new Error(`the module was switched off: ${answer.reason}`)
  const { epoch } = answer
  let seq = 0
  const wait = (holds: string[] = [], signal = new AbortController().signal, view = 0) =>
    link.wait({ epoch, holds, view }, signal)
  return {
    epoch: () => epoch,
    report: (...events) =>
      link.events({ epoch, lost: 0, events: events.map((event) => ({ ...event, seq: ++seq, at: 0 })) }),
    wait,
    listen(onBell) {
      const next = async (holds: string[]): Promise<void> => {
        const found = await wait(holds)
        if (found === null) return
        if (found.bell === undefined) return next(holds)
        onBell(found.bell)
        return next([found.bell.doorbell_id])
      }
      void next([])
    },
  }
}
