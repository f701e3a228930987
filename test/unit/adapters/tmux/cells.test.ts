/** Captured tmux screens with colours. */
import { describe, expect, test } from 'vitest'
import { parseCells, textOf } from '../../../../adapters/tmux/cells.ts'

const cellsIn = (...lines: string[]) => parseCells(lines)

describe('cells', () => {
  test('cells have the colour and the attributes bold, dim, inverse and struck', () => {
    const [row = []] = cellsIn('a\u001b[1;38;5;246mb\u001b[0;2mc\u001b[22;7md\u001b[27;39;9me\u001b[29mf')
    expect(row).toEqual([
      { char: 'a', colour: '39', bold: false, dim: false, inverse: false, struck: false },
      { char: 'b', colour: '38;5;246', bold: true, dim: false, inverse: false, struck: false },
      { char: 'c', colour: '39', bold: false, dim: true, inverse: false, struck: false },
      { char: 'd', colour: '39', bold: false, dim: false, inverse: true, struck: false },
      { char: 'e', colour: '39', bold: false, dim: false, inverse: false, struck: true },
      { char: 'f', colour: '39', bold: false, dim: false, inverse: false, struck: false },
    ])
  })

  test('cells continue the attributes of the previous line', () => {
    expect(cellsIn('\u001b[2ma', 'b\u001b[0m', 'c').map(([cell]) => cell?.dim)).toEqual([true, true, false])
  })

  test('cells ignore background colours', () => {
    const [row = []] = cellsIn('\u001b[48;5;2mA\u001b[38;2;1;2;3;48;2;9;1;2mB\u001b[94mC\u001b[49mD')
    expect(row.map(({ colour, dim, bold }) => [colour, dim, bold])).toEqual([
      ['39', false, false],
      ['38;2;1;2;3', false, false],
      ['94', false, false],
      ['94', false, false],
    ])
  })

  test('cells do not include control sequences', () => {
    const link = '\u001b]8;;https://example.org\u001b\\link\u001b]8;;\u001b\\'
    expect(textOf(cellsIn(`\u001b(B\u000e${link}\u000f ✓ 漢\u001b[K`)[0] ?? [])).toBe('link ✓ 漢')
  })
})
