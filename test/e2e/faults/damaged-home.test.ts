/**
 * Tests a real home: each of its files and directories is classified, and no process ends because of a cleanup tool or
 * a stopped hub.
 */
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, expect, onTestFinished, test } from 'vitest'
import { adviserIn } from '../../support/advice.ts'
import { pathsIn } from '../../support/disk/damage.ts'
import { rowOf } from '../../support/disk/damage-table.ts'
import { eventually } from '../../support/eventually.ts'
import { hubHttp } from '../../support/worlds/hub-http.ts'
import {
  end,
  standStill,
  startDaemon,
  startHub,
  temporaryHome,
  turnbell,
  type Running,
} from '../../support/processes/processes.ts'

interface Report {
  findings: { check: string; state: string; detail: string; mend: string | null }[]
}

const running: Running[] = []
afterEach(async () => {
  for (const one of running.splice(0)) await end(one)
})

const unknownIn = (home: string): string[] =>
  pathsIn(home).filter((one) => rowOf(one) === undefined && fs.existsSync(path.join(home, one)))

test('every file of a running hub and daemon is covered by the damage page', async () => {
  const home = temporaryHome()
  await turnbell(['persona', 'add', 'ada', '--surface', 'mcp', '--home', home])
  const hub = await startHub(home)
  running.push(hub)
  const daemon = await startDaemon(home, 'ada', ['--surface', 'mcp'])
  running.push(daemon)
  const http = hubHttp(home)
  for (let payload = 0; payload < 3; payload += 1)
    await http.post('/api/signals/send', { to: 'ada', intent: 'note', payload })
  expect(unknownIn(home)).toEqual([])

  // A cleanup tool removes the sockets and the locks.
  fs.rmSync(path.join(home, 'run'), { recursive: true })
  for (const name of ['lock', 'lock.owner', 'store.lock', 'store.lock.owner', 'hub.pid'])
    fs.rmSync(path.join(home, 'hub', name), { recursive: true })
  await eventually('the daemon answers again', async () => {
    const { code } = await turnbell(['status', '--persona', 'ada', '--home', home])
    return code === 0
  })
  await eventually('the locks are taken again', () =>
    ['lock.owner', 'store.lock.owner', 'hub.pid'].every((name) =>
      fs.existsSync(path.join(home, 'hub', name)),
    ),
  )
  expect([hub.child.exitCode, daemon.child.exitCode]).toEqual([null, null])

  // A stopped hub is detected, and doctor's advice resumes it.
  const goOn = await standStill(hub)
  const report = (await turnbell(['doctor', '--json', '--home', home])).json<Report>()
  const found = report.findings.find(({ check }) => check === 'hub')
  expect(found).toMatchObject({ state: 'broken', mend: expect.stringContaining('kill -CONT') as string })
  const status = await turnbell(['status', '--home', home])
  expect(status.stdout).toContain('stopped')
  goOn()
  await http.post('/api/signals/send', { to: 'ada', intent: 'note', payload: 4 })

  await end(daemon, 'SIGTERM')
  await end(hub, 'SIGTERM')
  expect(unknownIn(home)).toEqual([])
  fs.rmSync(home, { recursive: true })
})

test('a hub whose directory was removed refuses changes and is replaced by the next hub with an empty store', async () => {
  const home = temporaryHome()
  fs.writeFileSync(path.join(home, 'config.yaml'), 'hub: {port: 0}\npersonas: {ada: {surface: mcp}}\n')
  const adviser = adviserIn(home)
  onTestFinished(() => adviser.close())
  const former = await adviser.start('hub')
  const daemon = await adviser.start('daemon', '--persona', 'ada')
  const isLinked = async () =>
    /no agent is attached/.test((await adviser.finding('daemon ada')).detail) ? true : null
  await eventually('the daemon is linked', isLinked)
  const http = hubHttp(home)
  const send = (url: string) =>
    fetch(`${url}/api/signals/send`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ to: 'ada', intent: 'note', payload: 1 }),
    })
  const token = fs.readFileSync(path.join(home, 'secrets/operator.token'), 'utf8').trim()
  const url = http.url()
  expect((await send(url)).status).toBe(200)

  fs.renameSync(path.join(home, 'hub'), path.join(home, 'gone'))
  const refused = await send(url)
  expect(await refused.json()).toMatchObject({ code: 'store_unavailable' })
  const found = await adviser.finding('hub')
  expect(found).toMatchObject({ state: 'broken', detail: expect.stringContaining('ada') as string })
  await adviser.follow(found, [/^turnbell hub$/])
  expect(await former.exited).not.toBe(0)
  await eventually('the daemon is linked to the new one', isLinked)
  expect(await (await send(http.url())).json()).toMatchObject({ seq: 1 })
  expect(await adviser.finding('hub')).toMatchObject({ state: 'ok' })
  expect(daemon.child.exitCode).toBeNull()
})
