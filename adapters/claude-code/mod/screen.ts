/** What the module shows in the client: a line under the prompt, a row above it, a pane with the team, and notes. */
import type { DrawnElement, Elements } from './engine.ts'
import type { ClientView, ViewUpdate } from './messages.ts'
import { arrivalNote, hasTeam, statusLine, teamRows, waitingRow } from './shown-texts.ts'

/** Functions of the client; each may throw or reject, because a client may lack a place for it. */
export interface ScreenHost {
  status(text: string | undefined): void
  toast(text: string): void
  /** Draws the row and the pane again. */
  redraw(): void
  /** Opens the pane where there is room. */
  openTeam(): Promise<unknown>
}

export interface Screen {
  show(update: ViewUpdate): void
  /** Removes everything but the pane. */
  clear(): void
  /** Null if nothing waits. */
  row(elements: Elements): DrawnElement | null
  pane(elements: Elements): DrawnElement
}

const TITLE = 'turnbell'
const COLOURS: Readonly<Record<string, string>> = { busy: 'green', idle: 'cyan' }

export function createScreen(host: () => ScreenHost | null): Screen {
  let view: ClientView | null = null
  /** The pane is opened once, because a person may have closed it. */
  let was_pane_opened = false

  function draw(): void {
    const to = host()
    if (to === null) return
    attempt(() => to.status(view === null ? undefined : statusLine(view)))
    if (!was_pane_opened && view !== null && hasTeam(view)) {
      was_pane_opened = true
      attempt(() => to.openTeam())
    }
    attempt(() => to.redraw())
  }

  return {
    show({ view: next, arrived }) {
      view = next
      draw()
      if (arrived !== undefined) attempt(() => host()?.toast(arrivalNote(arrived)))
    },
    clear() {
      if (view === null) return
      view = null
      draw()
    },
    row({ Box, Text }) {
      const text = view === null ? null : waitingRow(view)
      if (text === null) return null
      return Box({
        gap: 1,
        children: [
          Box({ flexShrink: 0, children: [Text({ color: 'cyan', children: [TITLE] })] }),
          Text({ dimColor: true, wrap: 'truncate', children: [text] }),
        ],
      })
    },
    pane({ Box, Text }) {
      const rows = teamRows(view).map(({ name, turn, waiting }) =>
        Box({
          gap: 1,
          children: [
            Text({ bold: turn !== '', wrap: 'truncate', children: [name] }),
            Box({ flexShrink: 0, children: [Text({ color: COLOURS[turn] ?? 'gray', children: [turn] })] }),
            Box({ flexShrink: 0, children: [Text({ dimColor: true, children: [waiting] })] }),
          ],
        }),
      )
      return Box({ flexDirection: 'column', children: rows })
    },
  }
}

/** A client that cannot show something must not end the wait for doorbells. */
function attempt(call: () => unknown): void {
  try {
    Promise.resolve(call()).catch(() => {})
  } catch {
    // Not shown.
  }
}
