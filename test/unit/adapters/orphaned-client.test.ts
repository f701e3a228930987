/** How long a session waits for the client of a keeper that died. */
import { beforeEach, expect, test } from 'vitest'
import { waitForOrphanedClient } from '../../../adapters/claude-code/headless/orphaned-client.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { fakeClock, type FakeClock } from '../../support/fakes/fake-clock.ts'

let clock: FakeClock
let lives: boolean
/** Whether its start time can be read. */
let start_readable: boolean
let killed: number[]
let warned: string[]
let began: boolean

beforeEach(() => {
  clock = fakeClock()
  lives = true
  start_readable = true
  killed = []
  warned = []
  began = false
})

function wait(started: string | null = 'then') {
  const orphan = { pid: 4_711, started }
  const deps = {
    alive: (pid: number, since: string | null) => lives && pid === orphan.pid && since === started,
    is: (pid: number, since: string | null) => since !== null && start_readable && deps.alive(pid, since),
    killGroup: (pid: number) => void killed.push(pid),
    clock,
    log: { ...silentLog, warn: (_: object, message: string) => void warned.push(message) },
  }
  void waitForOrphanedClient(orphan, deps).then(() => (began = true))
}

test('a session begins at once if the earlier client has exited', async () => {
  lives = false
  wait()
  await clock.advance(0)
  expect({ began, armed: clock.armed() }).toEqual({ began: true, armed: 0 })
})

test('a session waits until the earlier client has exited by itself', async () => {
  wait()
  await clock.advance(LIMITS.claude_orphan_warn_ms - 1)
  expect({ began, warned, killed }).toEqual({ began: false, warned: [], killed: [] })
  lives = false
  await clock.advance(LIMITS.claude_orphan_check_ms)
  expect({ began, warned, killed }).toEqual({ began: true, warned: [], killed: [] })
})

test('a waiting session is logged repeatedly', async () => {
  wait()
  await clock.advance(3 * LIMITS.claude_orphan_warn_ms)
  expect(warned).toHaveLength(3)
  expect({ began, killed }).toEqual({ began: false, killed: [] })
})

test('an earlier client that does not exit is killed with its process group', async () => {
  wait()
  await clock.advance(LIMITS.claude_orphan_max_ms - 1)
  expect({ began, killed }).toEqual({ began: false, killed: [] })
  await clock.advance(1)
  expect(killed).toEqual([4_711])
  expect(warned.at(-1)).toMatch(/killed/)
  lives = false
  await clock.advance(LIMITS.claude_orphan_check_ms)
  expect({ began, armed: clock.armed() }).toEqual({ began: true, armed: 0 })
})

test('a process that may not be the earlier client is not killed, and the session begins', async () => {
  wait(null)
  await clock.advance(LIMITS.claude_orphan_max_ms)
  expect({ began, killed, armed: clock.armed() }).toEqual({ began: true, killed: [], armed: 0 })
  expect(warned.at(-1)).toMatch(/pid was reused/)
})

test('a process whose start time cannot be read is not killed, and the session begins', async () => {
  start_readable = false
  wait()
  await clock.advance(LIMITS.claude_orphan_max_ms)
  expect({ began, killed, armed: clock.armed() }).toEqual({ began: true, killed: [], armed: 0 })
  expect(warned.at(-1)).toMatch(/pid was reused/)
})

test('a session begins after the kill even if the process still exists', async () => {
  wait()
  await clock.advance(LIMITS.claude_orphan_max_ms + LIMITS.claude_orphan_check_ms)
  expect({ began, killed }).toEqual({ began: true, killed: [4_711] })
})
