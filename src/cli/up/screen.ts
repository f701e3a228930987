/**
 * Draws frames over one another on a terminal of its own, so that what stood there before comes back at
 * the end. A frame is one write, between the marks that tell the terminal not to show half of it; each
 * line is cleared behind its end instead of the screen before it, so nothing flickers.
 */
const ESC = '\u001b['
const ENTER = `${ESC}?1049h${ESC}?25l`
const LEAVE = `${ESC}?25h${ESC}?1049l`

export interface Screen {
  draw(lines: readonly string[]): void
  /** The next frame is drawn in full: the terminal has another size. */
  forget(): void
  close(): void
}

export function openScreen(write: (text: string) => void): Screen {
  let shown: string | null = null
  let open = true
  write(ENTER)
  return {
    draw(lines) {
      const text = lines.map((line) => `${line}${ESC}K`).join('\r\n')
      if (!open || text === shown) return
      shown = text
      write(`${ESC}?2026h${ESC}H${text}${ESC}J${ESC}?2026l`)
    },
    forget() {
      shown = null
    },
    close() {
      if (!open) return
      open = false
      write(LEAVE)
    },
  }
}
