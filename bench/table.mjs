/**
 * `node bench/table.mjs OUT.jsonl`: formats the output of `npm run -s bench > OUT.jsonl` as the table of
 * bench/README.md.
 */
import { figuresFile, readFigures } from './report/figures-file.mjs'
import { boundOf, met, shownRatio } from './report/verdict.mjs'

const [source] = figuresFile('usage: node bench/table.mjs OUT.jsonl\n')
const head = ['line', 'value', 'limit', 'ratio', 'lowest and highest round', 'goal', '']
const rows = [...readFigures(source).values()].map((figure) => {
  const { name, value, limit, unit, method } = figure
  const bound = boundOf(figure)
  const [, rounds = ''] = / ratios ([\d.]+ to [\d.]+)/.exec(method) ?? []
  return [
    ...[`\`${name}\``, `${shortly(value)} ${unit}`, `${shortly(limit)} ${unit}`, shownRatio(figure), rounds],
    ...(bound === null
      ? ['none', '']
      : [`${bound.comparison} ${bound.bound}`, met(figure) ? 'met' : '**missed**']),
  ]
})
const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column].length)))
const line = (cells) => `| ${cells.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |\n`
process.stdout.write(line(head))
process.stdout.write(line(widths.map((width) => '-'.repeat(width))))
for (const row of rows) process.stdout.write(line(row))

function shortly(value) {
  if (value >= 1000) return Number(value.toPrecision(4)).toLocaleString('en-US')
  return value.toPrecision(3)
}
