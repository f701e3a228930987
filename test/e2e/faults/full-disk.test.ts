/** A real disk that is full for a while, under a real hub and daemon. */
import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { hubHttp } from '../../support/worlds/hub-http.ts'
import {
  end,
  type Running,
  standStill,
  startDaemon,
  startHub,
  temporaryHome,
  turnbell,
} from '../../support/processes/processes.ts'
import { mountSmallDisk, type SmallDisk } from '../../support/disk/small-disk.ts'

const home = temporaryHome()
const running: Running[] = []
let disk: SmallDisk | null

beforeAll(() => {
  // Space for a hub, and for the mebibyte that it requires before it restarts.
  disk = mountSmallDisk(home, { mebibytes: 12, files: 400 })
})

afterAll(async () => {
  await Promise.all(running.splice(0).map((process_) => end(process_)))
  disk?.unmount()
})

/** Sends the start of a request; the hub waits for the rest before it ends. */
async function halfRequest(url: string): Promise<net.Socket> {
  const { hostname, port, host } = new URL(url)
  const socket = net.connect(Number(port), hostname)
  const lines = ['POST /api/signals/send HTTP/1.1', `host: ${host}`, 'content-type: application/json']
  socket.write(`${[...lines, 'content-length: 10', 'expect: 100-continue'].join('\r\n')}\r\n\r\n`)
  const [answer] = (await once(socket, 'data')) as [Buffer]
  expect(answer.toString()).toContain('100 Continue')
  return socket
}

test('a hub on a full disk refuses signals with the reason and recovers once there is space', async ({
  skip,
}) => {
  if (disk === null) return skip()
  const hub = await startHub(home)
  running.push(hub)
  const http = hubHttp(home)
  await http.post('/api/personas/add', { identity: 'bob', surface: 'mcp' })
  const daemon = await startDaemon(home, 'bob', ['--surface', 'mcp'])
  running.push(daemon)
  const send = (n: number) =>
    http.post<{ signal_id: string }>('/api/signals/send', { to: 'bob', intent: 'note', payload: n })
  const kept = [(await send(1)).signal_id]

  disk.fill()
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

  // Full again before the next hub starts: its home cannot even be locked.
  const held = await halfRequest(hub.url)
  disk.empty()
  await eventually('the hub restarts', () => hub.output().includes('restarting the hub'))
  // A daemon's metrics update would free the one inode that the hub lacks.
  const goOn = await standStill(daemon)
  disk.fill()
  held.destroy()
  await eventually('the hub retries', () =>
    /hub restart failed; retrying|"store_unavailable"/.test(hub.output()),
  )
  disk.empty()
  goOn()
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

test('a command on a full disk reports it and leaves no partial file', async ({ skip }) => {
  const small = temporaryHome()
  const own = mountSmallDisk(small, { mebibytes: 1, files: 40 })
  if (own === null) return skip()
  try {
    expect(await turnbell(['persona', 'add', 'ada', '--surface', 'mcp', '--home', small])).toMatchObject({
      code: 0,
    })
    const before = fs.readdirSync(small)
    own.fill()
    // Only inodes are free: locks can be created, and temporary files stay empty.
    const files = fs.readdirSync(small).map((name) => path.join(small, name))
    const empty = files.filter((file) => file.includes('filler') && fs.statSync(file).size === 0)
    for (const file of empty.slice(0, 8)) fs.rmSync(file)
    for (const words of [
      ['persona', 'add', 'bob', '--surface', 'mcp'],
      ['daemon', '--persona', 'ada'],
    ]) {
      const refused = await turnbell([...words, '--home', small, '--json'])
      expect(refused.json(), words.join(' ')).toMatchObject({
        code: 'store_unavailable',
        hint: expect.stringContaining('Make room') as string,
      })
    }
    const left = fs.readdirSync(small).filter((name) => !before.includes(name) && !name.startsWith('filler'))
    expect(left.filter((name) => name.includes('config') || name.includes('secrets'))).toEqual([])
  } finally {
    own.unmount()
  }
})
