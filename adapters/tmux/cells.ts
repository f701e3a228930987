/**
 * Parses a captured tmux screen into cells. Only attributes that distinguish a person's text from a client's hints are
 * kept: text colour, bold, dim, inverse, struck out.
 *
 * Source of the codes: ECMA-48, section 8.3.117 (SGR).
 */
export interface Cell {
  char: string
  /** SGR parameters: `39` is the default, `38;5;246` one of 256 colours. */
  colour: string
  bold: boolean
  dim: boolean
  inverse: boolean
  struck: boolean
}
export type Row = readonly Cell[]

type Pen = Omit<Cell, 'char'>

const PLAIN: Pen = { colour: '39', bold: false, dim: false, inverse: false, struck: false }
/** SGR, other control sequences, operating system commands (links), character set changes, control characters, text. */
const TOKENS =
  /\x1b\[([0-9;:]*)m|\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]|[\x00-\x1f\x7f]|([^\x00-\x1f\x7f])/gu

/** Parses lines into rows of cells. Attributes continue on the next line, as tmux writes them. */
export function parseCells(lines: readonly string[]): Row[] {
  let pen = PLAIN
  return lines.map((line) => {
    const row: Cell[] = []
    for (const [, codes, char] of line.matchAll(TOKENS)) {
      if (codes !== undefined) pen = withCodes(pen, codes)
      if (char !== undefined) row.push({ char, ...pen })
    }
    return row
  })
}

function withCodes(pen: Pen, codes: string): Pen {
  let next = pen
  const parts = codes.split(/[;:]/).map(Number)
  for (let at = 0; at < parts.length; at++) {
    const code = parts[at] ?? 0
    if (code === 38 || code === 48) {
      const length = parts[at + 1] === 2 ? 5 : 3
      if (code === 38) next = { ...next, colour: parts.slice(at, at + length).join(';') }
      at += length - 1
    } else next = withCode(next, code)
  }
  return next
}

function withCode(pen: Pen, code: number): Pen {
  if (code === 0) return PLAIN
  if (code === 1) return { ...pen, bold: true }
  if (code === 2) return { ...pen, dim: true }
  if (code === 22) return { ...pen, bold: false, dim: false }
  if (code === 7) return { ...pen, inverse: true }
  if (code === 27) return { ...pen, inverse: false }
  if (code === 9) return { ...pen, struck: true }
  if (code === 29) return { ...pen, struck: false }
  const isColour = (code >= 30 && code <= 37) || code === 39 || (code >= 90 && code <= 97)
  return isColour ? { ...pen, colour: String(code) } : pen
}

export function textOf(row: Row): string {
  return row.map(({ char }) => char).join('')
}

/** Returns the cells that are not white space. */
export function visibleCells(row: Row): Row {
  return row.filter(({ char }) => char.trim() !== '')
}

export function isBlank(row: Row): boolean {
  return visibleCells(row).length === 0
}

/** Returns the last row that begins at the left edge and all rows below it: in most clients the last message. */
export function lastBlock(rows: readonly Row[]): readonly Row[] {
  const begins = rows.findLastIndex(([first]) => first !== undefined && first.char.trim() !== '')
  return rows.slice(Math.max(0, begins))
}

/** Removes white space, because clients wrap lines at arbitrary positions and texts have to be compared. */
export function withoutSpace(text: string): string {
  return text.replace(/\s+/g, '')
}
