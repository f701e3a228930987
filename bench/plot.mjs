/**
 * `node bench/plot.mjs OUT.jsonl [DIR]`: draws what `npm run bench > OUT.jsonl` said, as SVG into
 * docs/performance/. Lines that are no figure are passed over, and so is a plot whose figures are not there.
 */
import fs from 'node:fs'
import path from 'node:path'
import { boundOf, figuresFile, readFigures, shareOf } from './figures-file.mjs'
import { barChart, dotChart } from './svg.mjs'

const [source, directory = 'docs/performance'] = figuresFile('usage: node bench/plot.mjs OUT.jsonl [DIR]\n')
const figures = readFigures(source)

fs.mkdirSync(directory, { recursive: true })
draw('goals', goals())
draw('throughput', throughput())
draw('latency', latency())
draw('growth', growth())
draw('restart', restart())

function draw(name, svg) {
  if (svg === null) {
    process.stderr.write(`${name}.svg: its figures are not in ${source}\n`)
    return
  }
  fs.writeFileSync(path.join(directory, `${name}.svg`), svg)
}

function goals() {
  const rows = [...figures.values()]
    .filter(({ goal }) => goal !== null)
    .map((figure) => {
      const goal = boundOf(figure)
      const share = shareOf(figure, goal)
      return {
        label: figure.name,
        value: share,
        text: `${figure.ratio} (goal ${goal.comparison} ${goal.bound})`,
        bad: share > 1,
      }
    })
  if (rows.length === 0) return null
  return dotChart(
    'Goals: how far from the bound',
    'better than the goal to the left, missed to the right',
    rows,
  )
}

function throughput() {
  const groups = [1, 100].flatMap((senders) => {
    const [nats, redis] = [figures.get(`nats-${senders}`), figures.get(`redis-${senders}`)]
    const own = nats ?? redis
    if (own === undefined) return []
    return [
      {
        label: senders === 1 ? 'one sender' : `${senders} senders`,
        bars: [
          { name: 'turnbell', value: own.value },
          ...(nats ? [{ name: 'NATS JetStream, each synced', value: nats.limit }] : []),
          ...(redis ? [{ name: 'Redis streams, appendfsync always', value: redis.limit }] : []),
        ],
      },
    ]
  })
  return groups.length === 0 ? null : barChart('Durable sends a second', 'longer is better', groups, whole)
}

function latency() {
  const rows = [
    ['send-one', 'a send, until its receipt'],
    ['doorbell', 'a send, until the doorbell at the agent'],
  ]
  const groups = rows.flatMap(([name, label]) => {
    const figure = figures.get(name)
    if (figure === undefined) return []
    return [
      {
        label,
        bars: [
          { name: 'turnbell', value: figure.value / 1000 },
          { name: 'without syncs, plus one raw sync', value: figure.limit / 1000 },
        ],
      },
    ]
  })
  return groups.length === 0 ? null : barChart('Median time, one at a time', 'shorter is better', groups, ms)
}

function growth() {
  const sizes = [
    ['10-personas', '10 personas'],
    ['50-personas', '50 personas'],
    ['100k-signals', '100,000 stored signals'],
    ['1m-signals', '1,000,000 stored signals'],
  ]
  const groups = sizes.flatMap(([size, label]) => {
    const [sends, bells] = [figures.get(`growth-sends-${size}`), figures.get(`growth-doorbell-${size}`)]
    if (sends === undefined || bells === undefined) return []
    return [
      {
        label,
        bars: [
          { name: 'sends a second', value: sends.ratio },
          { name: 'time to the doorbell', value: bells.ratio },
        ],
      },
    ]
  })
  if (groups.length === 0) return null
  return barChart('Against one persona and an empty store', '1 is the same', groups, times, 1)
}

function restart() {
  const [replay, snapshot, hub] = ['replay', 'snapshot', 'hub'].map((name) => figures.get(`restart-${name}`))
  if (replay === undefined || snapshot === undefined || hub === undefined) return null
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
        { name: 'without one', value: hub.value + replay.value - snapshot.value },
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
