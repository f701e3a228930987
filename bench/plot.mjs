/**
 * `node bench/plot.mjs OUT.jsonl [DIR]`: draws the output of `npm run -s bench > OUT.jsonl` as SVG into
 * docs/explanation/performance/. Other lines are skipped. A plot with a missing figure is left unchanged.
 */
import fs from 'node:fs'
import path from 'node:path'
import { figuresFile, readFigures, refuse } from './report/figures-file.mjs'
import { barChart, dotChart } from './report/svg.mjs'
import { boundOf, met, shareOf, shownRatio } from './report/verdict.mjs'

const SENDERS = [1, 100]
const SERVERS = { nats: 'NATS JetStream, each synced', redis: 'Redis streams, appendfsync always' }
const PEERS = SENDERS.flatMap((senders) => Object.keys(SERVERS).map((peer) => `${peer}-${senders}`))
const SIZES = [
  ['10-personas', '10 personas'],
  ['50-personas', '50 personas'],
  ['100k-signals', '100,000 stored signals'],
  ['1m-signals', '1,000,000 stored signals'],
]
const GROWN = SIZES.flatMap(([size]) => [`growth-sends-${size}`, `growth-doorbell-${size}`])
/** All figures with a goal. Any other figure is drawn if it is present, but is not required. */
const GOALS = [
  ...['send-one', 'send-many', ...PEERS, 'journal', 'journal-sqlite', 'doorbell', 'slow-disk'],
  ...['restart-replay', 'restart-snapshot', 'idle-links', 'daemon-start', 'daemon-rss', 'daemon-cpu'],
  ...['mcp-http', 'mcp-stdio', 'peek', 'hook-hub-up', 'hook-hub-down', ...GROWN],
  ...['memory-post-p99', 'memory-assemble'],
]

const [source, directory = path.resolve(import.meta.dirname, '../docs/explanation/performance')] =
  figuresFile('usage: node bench/plot.mjs OUT.jsonl [DIR]\n', 2)
const figures = readFigures(source)

if (fs.statSync(directory, { throwIfNoEntry: false })?.isDirectory() === false)
  refuse(`${directory} is no directory\n`)
fs.mkdirSync(directory, { recursive: true })
draw('goals', GOALS, goals)
draw('throughput', PEERS, throughput)
draw('latency', ['send-one', 'doorbell'], latency)
draw('growth', GROWN, growth)
draw('restart', ['restart-replay', 'restart-snapshot', 'restart-hub'], restart)

function draw(name, needed, plot) {
  const missing = needed.filter((line) => !figures.has(line))
  if (missing.length > 0) {
    process.stderr.write(`${name}.svg is unchanged: ${source} has no ${missing.join(', ')}\n`)
    return
  }
  fs.writeFileSync(path.join(directory, `${name}.svg`), plot())
}

function goals() {
  const rows = [...figures.values()]
    .filter(({ goal }) => goal !== null)
    .map((figure) => {
      const goal = boundOf(figure)
      return {
        label: figure.name,
        value: shareOf(figure, goal),
        text: `${shownRatio(figure)} (goal ${goal.comparison} ${goal.bound})`,
        bad: !met(figure),
      }
    })
  return dotChart(
    'Goals: how far from the bound',
    'better than the goal to the left, missed to the right',
    rows,
  )
}

/** Each figure belongs to its own round, and is shown next to the measurement of the same round. */
function throughput() {
  const groups = SENDERS.flatMap((senders) =>
    Object.entries(SERVERS).map(([peer, name]) => {
      const { value, limit } = figures.get(`${peer}-${senders}`)
      return {
        label: senders === 1 ? 'one sender' : `${senders} senders`,
        bars: [
          { name: 'turnbell', value },
          { name, value: limit },
        ],
      }
    }),
  )
  return barChart('Durable sends a second', 'longer is better', groups, whole)
}

function latency() {
  const rows = [
    ['send-one', 'a send, until its receipt'],
    ['doorbell', 'a send, until the doorbell at the agent'],
  ]
  const groups = rows.map(([name, label]) => {
    const { value, limit } = figures.get(name)
    return {
      label,
      bars: [
        { name: 'turnbell', value: value / 1000 },
        { name: 'without syncs, plus one raw sync', value: limit / 1000 },
      ],
    }
  })
  return barChart('Median time, one at a time', 'shorter is better', groups, ms)
}

function growth() {
  const groups = SIZES.map(([size, label]) => ({
    label,
    bars: [
      { name: 'sends a second', value: figures.get(`growth-sends-${size}`).ratio },
      { name: 'time to the doorbell', value: figures.get(`growth-doorbell-${size}`).ratio },
    ],
  }))
  return barChart('Against one persona and an empty store', '1 is the same', groups, times, 1)
}

function restart() {
  const [replay, snapshot, hub] = ['replay', 'snapshot', 'hub'].map((name) => figures.get(`restart-${name}`))
  const groups = [
    {
      label: 'opening the store',
      bars: [
        { name: 'with a snapshot', value: snapshot.value },
        { name: 'without one', value: replay.value },
      ],
    },
    {
      label: 'the whole hub, until it is ready',
      bars: [
        { name: 'with a snapshot', value: hub.value },
        { name: 'without one (calculated)', value: hub.value + replay.value - snapshot.value },
        { name: 'with an empty home', value: hub.limit },
      ],
    },
  ]
  return barChart('A restart with 1,000,000 stored signals', 'shorter is better', groups, ms)
}

function whole(value) {
  return Math.round(value).toLocaleString('en')
}

function ms(value) {
  return `${Number(value.toPrecision(3)).toLocaleString('en')} ms`
}

function times(value) {
  return `${value.toFixed(2)} x`
}
