/** Tests the metrics in the format that Prometheus scrapes. */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { DAEMON_METRICS, DaemonErrorClass } from '../../src/contracts/metrics.ts'
import { eventually } from '../support/eventually.ts'
import { hubHttp } from '../support/worlds/hub-http.ts'
import { end, type Running, startDaemon, startHub, temporaryHome } from '../support/processes/processes.ts'

const running: Running[] = []
const keep = <T extends Running>(process_: T): T => {
  running.push(process_)
  return process_
}
afterEach(async () => {
  await Promise.all(running.splice(0).map((process_) => end(process_, 'SIGTERM')))
})

/** Returns label sets by series name. */
function parse(text: string): Map<string, Record<string, string>[]> {
  const series = new Map<string, Record<string, string>[]>()
  for (const line of text.split('\n')) {
    const found = /^([a-z_:][a-z0-9_:]*)(?:\{(.*)\})? /.exec(line)
    if (!found) continue
    const labels: Record<string, string> = {}
    for (const [, label, value] of (found[2] ?? '').matchAll(/([a-z_]+)="([^"]*)"/g))
      labels[String(label)] = String(value)
    series.set(found[1] as string, [...(series.get(found[1] as string) ?? []), labels])
  }
  return series
}

describe('metrics', () => {
  test('the metrics of a hub with three daemons pass promtool and have exactly the documented labels', async () => {
    const home = temporaryHome()
    keep(await startHub(home))
    for (const identity of ['ada', 'bob', 'cyd'])
      keep(await startDaemon(home, identity, ['--surface', 'mcp']))
    const http = hubHttp(home)
    const text = await eventually('three daemons report', async () => {
      const metrics = await http.get<string>('/metrics')
      return (parse(metrics).get('daemon_up') ?? []).length === 3 && metrics
    })

    const checked = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' })
    expect(checked.error).toBeUndefined()
    expect(`${checked.stdout}${checked.stderr}`).toBe('')
    expect(checked.status).toBe(0)

    const series = parse(text)
    const daemonNames = [...series.keys()].filter((name) => name.startsWith('daemon_')).sort()
    expect(daemonNames).toEqual(Object.keys(DAEMON_METRICS).sort())
    for (const [name, { labels }] of Object.entries(DAEMON_METRICS)) {
      for (const found of series.get(name) ?? [])
        expect(Object.keys(found).sort(), name).toEqual([...labels].sort())
    }
    const classes = new Set((series.get('daemon_errors_total') ?? []).map((labels) => labels['error_class']))
    expect([...classes].sort()).toEqual([...DaemonErrorClass.options].sort())
    expect(
      [...series.keys()].filter((name) => !/^(daemon_|turnbell_hub_|process_|nodejs_)/.test(name)),
    ).toEqual([])
  })

  test('the metrics of a daemon are also in its metrics.prom', async () => {
    const home = temporaryHome()
    keep(await startHub(home))
    keep(await startDaemon(home, 'ada', ['--surface', 'mcp']))
    const file = path.join(home, 'run/local/ada/metrics.prom')
    const text = await eventually(
      'the file is there',
      () => fs.existsSync(file) && fs.readFileSync(file, 'utf8'),
    )
    expect(parse(text).get('daemon_up')).toEqual([{ tenant_id: 'local', identity: 'ada' }])
  })

  test('the metrics show a killed daemon as down', async () => {
    const home = temporaryHome()
    keep(await startHub(home))
    const daemon = keep(await startDaemon(home, 'ada', ['--surface', 'mcp']))
    const http = hubHttp(home)
    const up = async () => /^daemon_up\{[^}]*\} (\d)$/m.exec(await http.get<string>('/metrics'))?.[1]
    await eventually('it is up', async () => (await up()) === '1')
    await end(daemon, 'SIGKILL')
    await eventually('it is down', async () => (await up()) === '0')
  })
})
