/** A real disk that is full for a while, under a real hub and daemon. */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { hubHttp } from '../support/hub-http.ts'
import { end, type Running, startDaemon, startHub, temporaryHome } from '../support/processes.ts'

const home = temporaryHome()
const running: Running[] = []
let mounted = false

beforeAll(() => {
  // Room for a hub, and for the mebibyte that it wants to see before it begins anew.
  const mount = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=12m,mode=0700', 'tmpfs', home])
  mounted = mount.status === 0
  if (!mounted) console.warn('LEFT OUT: a full disk, which takes the right to mount one')
})

afterAll(async () => {
  await Promise.all(running.splice(0).map((process_) => end(process_)))
  if (mounted) expect(spawnSync('umount', [home]).status).toBe(0)
})

function fill(file: string): void {
  const fd = fs.openSync(file, 'w')
  const bytes = Buffer.alloc(4096)
  try {
    for (;;) fs.writeSync(fd, bytes)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  } finally {
    fs.closeSync(fd)
  }
}

test('refuses what it cannot keep, says why, and goes on once there is room', async (context) => {
  context.skip(!mounted)
  const hub = await startHub(home)
  running.push(hub)
  const http = hubHttp(home)
  await http.post('/api/personas/add', { identity: 'bob', surface: 'mcp' })
  running.push(await startDaemon(home, 'bob', ['--surface', 'mcp']))
  const send = (n: number) =>
    http.post<{ signal_id: string }>('/api/signals/send', { to: 'bob', intent: 'note', payload: n })
  const kept = [(await send(1)).signal_id]

  const filler = path.join(home, 'filler')
  fill(filler)
  await eventually('a send is refused', () =>
    send(2).then(
      ({ signal_id }) => void kept.push(signal_id),
      (error: { problem?: object }) => error.problem,
    ),
  )
  await expect(send(3)).rejects.toMatchObject({
    problem: { code: 'store_unavailable', hint: expect.stringContaining('Make room') as string },
  })
  expect((await fetch(`${hub.url}/ready`)).status).toBe(503)

  // Full again before the next hub is there: its home cannot even be locked.
  fs.rmSync(filler)
  await eventually('it begins anew', () => hub.output().includes('begins anew'))
  fill(filler)
  await eventually('it tries again', () => /cannot begin anew yet|"store_unavailable"/.test(hub.output()))
  fs.rmSync(filler)
  kept.push(await eventually('it takes signals again', () => send(4).then((sent) => sent.signal_id)))
  expect(hub.child.exitCode).toBeNull()
  const { signals } = await http.post<{ signals: { signal_id: string }[] }>('/api/signals/inbox', {
    to: 'bob',
  })
  expect(signals.map(({ signal_id }) => signal_id).toSorted()).toEqual(kept.toSorted())
  await eventually('its daemon is back', async () => {
    const { personas } = await http.post<{
      personas: { registrations: { kind: string; connected: boolean }[] }[]
    }>('/api/personas/list', {})
    return personas[0]?.registrations.some(({ kind, connected }) => kind === 'daemon' && connected)
  })
})
