/** `node bench/table.mjs OUT.jsonl`: what `npm run bench > OUT.jsonl` said, as the table of bench/README.md. */
import { boundOf, figuresFile, readFigures, shareOf } from './figures-file.mjs'

const [source] = figuresFile('usage: node bench/table.mjs OUT.jsonl\n')
const head = ['line', 'value', 'limit', 'ratio', 'lowest and highest round', 'goal', '']
const rows = [...readFigures(source).values()].map((figure) => {
  const { name, value, limit, unit, ratio, method } = figure
  const bound = boundOf(figure)
  const [, rounds = ''] = / ratios ([\d.]+ to [\d.]+)/.exec(method) ?? []
  return [
    ...[
      `\`${name}\``,
      `${threeDigits(value)} ${unit}`,
      `${threeDigits(limit)} ${unit}`,
      rounded(ratio),
      rounds,
    ],
    ...(bound === null
      ? ['none', '']
      : [`${bound.comparison} ${bound.bound}`, verdict(shareOf(figure, bound))]),
  ]
})
const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column].length)))
const line = (cells) => `| ${cells.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |\n`
process.stdout.write(line(head))
process.stdout.write(line(widths.map((width) => '-'.repeat(width))))
for (const row of rows) process.stdout.write(line(row))

function verdict(share) {
  return share <= 1 ? 'met' : '**missed**'
}

function threeDigits(value) {
  if (value >= 1000) return Number(value.toPrecision(4)).toLocaleString('en-US')
  return value.toPrecision(3)
}

function rounded(ratio) {
  return ratio < 0.1 ? String(Number(ratio.toPrecision(2))) : ratio.toFixed(2)
}
