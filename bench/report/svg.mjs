/** Draws two kinds of charts as SVG text, readable on light and dark pages. */

const WIDTH = 760
const LEFT = 250
const RIGHT = 170
const TOP = 56
const BAR = 16
const GAP = 4
const GROUP_GAP = 18
const ROW = 20

const STYLE = `
  text { font: 12px system-ui, sans-serif; fill: #1f2328 }
  .title { font-size: 15px; font-weight: 600 }
  .soft { fill: #59636e }
  .line { stroke: #d1d9e0; stroke-width: 1 }
  .bound { stroke: #59636e; stroke-width: 1.5; stroke-dasharray: 4 3 }
  .c0 { fill: #0969da } .c1 { fill: #8c959f } .c2 { fill: #c69026 }
  .good { fill: #1a7f37 } .bad { fill: #cf222e }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .soft { fill: #9198a1 } .line { stroke: #3d444d } .bound { stroke: #9198a1 }
    .c0 { fill: #4493f8 } .c1 { fill: #6e7681 } .c2 { fill: #d4a72c } .good { fill: #3fb950 } .bad { fill: #f85149 }
  }`

/** Groups of bars, each `{label, bars: [{name, value}]}`; the first bar of a group is turnbell. */
export function barChart(title, note, groups, format, mark = null) {
  const largest = Math.max(mark ?? 0, ...groups.flatMap(({ bars }) => bars.map(({ value }) => value)))
  const x = (value) => LEFT + (value / largest) * (WIDTH - LEFT - RIGHT)
  const parts = []
  let y = TOP
  for (const { label, bars } of groups) {
    parts.push(text(0, y + BAR - 4, label))
    y += BAR + GAP
    for (const [index, { name, value }] of bars.entries()) {
      const top = y + index * (BAR + GAP)
      parts.push(text(LEFT - 8, top + BAR - 4, name, 'soft', 'end'))
      parts.push(rect(LEFT, top, Math.max(1, x(value) - LEFT), `c${Math.min(index, 2)}`))
      parts.push(text(x(value) + 6, top + BAR - 4, format(value)))
    }
    y += bars.length * (BAR + GAP) + GROUP_GAP
  }
  if (mark !== null) parts.push(vertical(x(mark), TOP - 6, y - GROUP_GAP, 'bound'))
  return page(title, note, parts, y)
}

/** Dots on a logarithmic scale around 1; each `{label, value, text, bad}`. */
export function dotChart(title, note, rows) {
  const far = Math.max(2, ...rows.map(({ value }) => Math.max(value, 1 / value)))
  const width = WIDTH - LEFT - RIGHT
  const x = (value) => LEFT + width / 2 + (Math.log(value) / Math.log(far)) * (width / 2)
  const bottom = TOP + rows.length * ROW
  const parts = [vertical(x(1), TOP - 6, bottom, 'bound')]
  for (const [index, { label, value, text: said, bad }] of rows.entries()) {
    const y = TOP + index * ROW + ROW / 2
    parts.push(`<line class="line" x1="${LEFT}" x2="${LEFT + width}" y1="${y}" y2="${y}"/>`)
    parts.push(text(LEFT - 12, y + 4, label, '', 'end'))
    parts.push(`<circle class="${bad ? 'bad' : 'good'}" cx="${round(x(value))}" cy="${y}" r="5"/>`)
    parts.push(text(LEFT + width + 12, y + 4, said, 'soft'))
  }
  return page(title, note, parts, bottom + 12)
}

function page(title, note, parts, height) {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${round(height)}" width="${WIDTH}" height="${round(height)}" role="img" aria-label="${escaped(title)}">`,
    `<style>${STYLE}\n</style>`,
    text(0, 18, title, 'title'),
    text(0, 37, note, 'soft'),
    ...parts,
    '</svg>\n',
  ].join('\n')
}

function text(x, y, content, class_name = '', anchor = 'start') {
  return `<text x="${round(x)}" y="${round(y)}" class="${class_name}" text-anchor="${anchor}">${escaped(content)}</text>`
}

function rect(x, y, width, class_name) {
  return `<rect class="${class_name}" x="${round(x)}" y="${y}" width="${round(width)}" height="${BAR}" rx="2"/>`
}

function vertical(x, from, to, class_name) {
  return `<line class="${class_name}" x1="${round(x)}" x2="${round(x)}" y1="${from}" y2="${to}"/>`
}

const round = (value) => Number(value.toFixed(1))
const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const escaped = (content) => content.replace(/[&<>"]/g, (one) => ENTITIES[one])
