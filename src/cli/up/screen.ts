/**
 * Draws frames on the terminal's alternate screen, so that the previous content reappears at the end. Each frame is one
 * synchronized write and clears the rest of each line instead of the screen, which avoids flicker.
 */
const ESC = '\u001b['
const ENTER = `${ESC}?1049h${ESC}?25l`
const LEAVE = `${ESC}?25h${ESC}?1049l`

export interface Screen {
  draw(lines: readonly string[]): void
  /** Draws the next frame even if it is unchanged, because the terminal was resized. */
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
