/** How long a session waits for the client that an earlier keeper left behind. */
import { beforeEach, expect, test } from 'vitest'
import { formerClientIsGone } from '../../../adapters/claude-code/headless/former-client.ts'
import { LIMITS } from '../../../src/contracts/limits.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { fakeClock, type FakeClock } from '../../support/fake-clock.ts'

let clock: FakeClock
let lives: boolean
/** When it started can be read. */
let told: boolean
let killed: number[]
let warned: string[]
let began: boolean

beforeEach(() => {
  clock = fakeClock()
  lives = true
  told = true
  killed = []
  warned = []
  began = false
})

function wait(started: string | null = 'then') {
  const former = { pid: 4_711, started }
  const deps = {
    alive: (pid: number, since: string | null) => lives && pid === former.pid && since === started,
    is: (pid: number, since: string | null) => since !== null && told && deps.alive(pid, since),
    killGroup: (pid: number) => void killed.push(pid),
    clock,
    log: { ...silentLog, warn: (_: object, message: string) => void warned.push(message) },
  }
  void formerClientIsGone(former, deps).then(() => (began = true))
}

test('not at all where it is gone already', async () => {
  lives = false
  wait()
  await clock.advance(0)
  expect({ began, armed: clock.armed() }).toEqual({ began: true, armed: 0 })
})

test('until it has ended its turn, and nobody ends it', async () => {
  wait()
  await clock.advance(LIMITS.claude_left_warn_ms - 1)
  expect({ began, warned, killed }).toEqual({ began: false, warned: [], killed: [] })
  lives = false
  await clock.advance(LIMITS.claude_left_check_ms)
  expect({ began, warned, killed }).toEqual({ began: true, warned: [], killed: [] })
})

test('with a warning again and again, so that somebody learns why there is no session', async () => {
  wait()
  await clock.advance(3 * LIMITS.claude_left_warn_ms)
  expect(warned).toHaveLength(3)
  expect({ began, killed }).toEqual({ began: false, killed: [] })
})

test('not for ever: one that hangs is ended, with all that it started', async () => {
  wait()
  await clock.advance(LIMITS.claude_left_max_ms - 1)
  expect({ began, killed }).toEqual({ began: false, killed: [] })
  await clock.advance(1)
  expect(killed).toEqual([4_711])
  expect(warned.at(-1)).toMatch(/hangs.*ended/)
  lives = false
  await clock.advance(LIMITS.claude_left_check_ms)
  expect({ began, armed: clock.armed() }).toEqual({ began: true, armed: 0 })
})

test('not for ever either where it cannot be told from a stranger, which is left alone', async () => {
  wait(null)
  await clock.advance(LIMITS.claude_left_max_ms)
  expect({ began, killed, armed: clock.armed() }).toEqual({ began: true, killed: [], armed: 0 })
  expect(warned.at(-1)).toMatch(/another program/)
})

test('nor where that cannot be read at that moment', async () => {
  told = false
  wait()
  await clock.advance(LIMITS.claude_left_max_ms)
  expect({ began, killed, armed: clock.armed() }).toEqual({ began: true, killed: [], armed: 0 })
  expect(warned.at(-1)).toMatch(/another program/)
})

test('no longer for one that is killed and stays: it writes no more', async () => {
  wait()
  await clock.advance(LIMITS.claude_left_max_ms + LIMITS.claude_left_check_ms)
  expect({ began, killed }).toEqual({ began: true, killed: [4_711] })
})
