/**
 * A real tmux with unsupported programs in it: turnbell types nothing, whatever they show. A recording program also
 * checks the conditions of the pane.
 */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { PaneGoneError, tmuxPane, type RunCommand, type Pane } from '../../adapters/tmux/pane.ts'
import { tmuxSurface } from '../../adapters/tmux/tmux-surface.ts'
import type { TmuxSettings } from '../../src/contracts/config.ts'
import { silentLog } from '../../src/ports/log.ts'
import { runCommand } from '../../src/system/process/run-command.ts'
import { systemClock } from '../../src/system/clock.ts'
import { doorbell } from '../support/doorbells.ts'
import { eventually } from '../support/eventually.ts'
import { cleanEnvironment } from '../support/processes/processes.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { drawnScreen } from '../support/clients/tmux-screens.ts'

const BELL = '[turnbell] 1 signal waits (from bob: x). Call signals_pending once. (bell 0a1b2c3d)'
const OTHER_BELL = '[turnbell] 1 signal waits (from eve: y). Call signals_pending once. (bell 4e5f6071)'
const closers: (() => unknown)[] = []

beforeAll(() => {
  try {
    execFileSync('tmux', ['-V'])
  } catch (cause) {
    throw new Error('these tests need tmux (Debian package tmux)', { cause })
  }
})
afterEach(() => closers.splice(0).forEach((close) => close()))

const ask: RunCommand = (program, args) => runCommand(program, args, 10_000)

/** Opens a separate server with one pane, 160 columns wide. */
function openPane(argv: readonly string[], settings: Partial<TmuxSettings> = {}) {
  const directory = temporaryDirectory()
  const socket = path.join(directory, 's')
  const tmux = (...args: string[]) => execFileSync('tmux', ['-S', socket, ...args], { encoding: 'utf8' })
  const env = cleanEnvironment({ LANG: 'C.UTF-8', TERM: 'xterm-256color', HISTFILE: '' })
  const size = ['-x', '160', '-y', '50']
  const begin = ['-f', '/dev/null', 'new-session', '-d', '-s', 'work', '-c', directory, ...size, ...argv]
  const start = () => execFileSync('tmux', ['-S', socket, ...begin], { env })
  start()
  closers.push(() => {
    try {
      tmux('kill-server')
    } catch {
      // The server ended with its last program.
    }
  })
  const pane = tmuxPane({ pane: 'work:0.0', socket, ...settings }, ask)
  const shows = (what: RegExp) =>
    eventually(`the pane shows ${what}`, () => what.test(tmux('capture-pane', '-p', '-t', 'work:0.0')))
  return { directory, tmux, pane, shows, socket, start }
}

/** Draws a screen and records every received byte. */
function drawingProgram(directory: string, client: 'claude-code' | 'codex', screen: string) {
  const { lines, cursor_x, cursor_y } = drawnScreen(client, screen)
  const drawn = `\u001b[2J\u001b[H${lines.join('\r\n')}\u001b[${cursor_y + 1};${cursor_x + 1}H`
  const got = path.join(directory, 'got')
  // Named like the client, so that it is detected as one.
  const program = path.join(directory, 'codex.js')
  fs.writeFileSync(got, '')
  fs.writeFileSync(
    program,
    `process.stdin.setRawMode(true)
process.stdin.on('data', (bytes) => require('node:fs').appendFileSync(${JSON.stringify(got)}, bytes))
process.stdout.write(${JSON.stringify('\u001b[?2004h')} + ${JSON.stringify(drawn)})`,
  )
  return { argv: [process.execPath, program], got: () => fs.readFileSync(got, 'utf8') }
}

async function ring(pane: Pane) {
  const surface = tmuxSurface({ pane, clock: systemClock, log: silentLog })
  closers.push(() => surface.close())
  surface.open({ report: async () => ({ doorbell: null }) })
  const answer = await surface.notify_surface(doorbell())
  return { answer, status: await surface.status() }
}

describe('a pane with another program', () => {
  test.each([
    ['a shell at its prompt', ['bash', '--norc'], /[$#]\s*$/m],
    [
      'a shell that asks',
      ['bash', '-c', 'read -p "Overwrite it? " answer; echo "got <$answer>"; sleep 100'],
      /Overwrite/,
    ],
    ['a pager', ['sh', '-c', 'seq 200 | more'], /--More--/],
    ['a program that shows a prompt like ours', ['sh', '-c', 'printf "❯ "; cat'], /❯/],
  ])('a pane with another program gets no input: %s', async (_, argv, ready) => {
    const { pane, tmux, shows } = openPane(argv)
    await shows(ready)
    const before = tmux('capture-pane', '-p', '-t', 'work:0.0')
    const { answer, status } = await ring(pane)
    expect(answer).toEqual({ accepted: false, proof: 'unavailable' })
    expect(status.turn).toBe('unknown')
    expect(tmux('capture-pane', '-p', '-t', 'work:0.0')).toBe(before)
    expect(tmux('list-buffers')).toBe('')
  })

  test('a pane with a shell gets no input although a client is configured', async () => {
    const { pane, shows } = openPane(['bash', '--norc'], { client: 'codex' })
    await shows(/[$#]\s*$/m)
    expect((await ring(pane)).answer.proof).toBe('unavailable')
  })

  test.each(['permission', 'model-list', 'draft', 'thinking', 'answering'])(
    'a pane gets no key while it shows %s as Codex does',
    async (screen) => {
      const directory = temporaryDirectory()
      const program = drawingProgram(directory, 'codex', screen)
      const { pane, shows } = openPane(program.argv)
      await shows(/Codex|Would you/)
      const { answer, status } = await ring(pane)
      expect(answer).toEqual({ accepted: false, proof: 'deferred' })
      expect(status.turn).not.toBe('idle')
      expect(program.got()).toBe('')
    },
  )
})

describe('a pane that is gone', () => {
  test('a missing pane is unavailable', async () => {
    const { pane, tmux } = openPane(['sleep', '100'])
    tmux('kill-server')
    await expect(pane.look()).rejects.toThrow(PaneGoneError)
    expect((await ring(pane)).answer.proof).toBe('unavailable')
  })

  test('a missing pane is not replaced by one of another name', async () => {
    const { pane } = openPane(['sleep', '100'], { pane: 'work:7.3' })
    await expect(pane.look()).rejects.toThrow(PaneGoneError)
  })
})

// tmux moved the pane of another agent to this position.
describe('a pane next to a closed one', () => {
  test('a closed pane is not replaced by its neighbour until it is configured', async () => {
    const { pane, tmux } = openPane(['sleep', '100'])
    tmux('split-window', '-d', '-t', 'work:0.0', 'sleep', '100')
    expect((await pane.look()).pane_id).toBe('%0')
    tmux('kill-pane', '-t', '%0')
    const look = pane.look()
    await expect(look).rejects.toThrow(PaneGoneError)
    await expect(look).rejects.toThrow(/%0, bound as work:0\.0, no longer exists.*turnbell resume/)
    pane.forget()
    expect((await pane.look()).pane_id).toBe('%1')
  })

  test('a closed pane is not replaced by one that was swapped with it', async () => {
    const { pane, tmux } = openPane(['sleep', '100'])
    tmux('split-window', '-d', '-t', 'work:0.0', 'sleep', '100')
    expect((await pane.look()).pane_id).toBe('%0')
    tmux('swap-pane', '-d', '-s', '%0', '-t', '%1')
    const look = await pane.look()
    expect(look.pane_id).toBe('%0')
    await expect(pane.client(look)).rejects.toThrow(PaneGoneError)
  })

  test('a pane is not confused with one of a shorter name', async () => {
    const { pane, tmux } = openPane(['sleep', '100'], { pane: 'shop:0.0' })
    tmux('rename-session', '-t', 'work', 'shop-bob')
    await expect(pane.look()).rejects.toThrow(PaneGoneError)
    tmux('rename-session', '-t', 'shop-bob', 'shop')
    expect((await pane.look()).pane_id).toBe('%0')
  })
})

// tmux numbers its panes from zero again, so the number may belong to another agent.
describe('a restarted tmux server', () => {
  const again = async (pane: string) => {
    const world = openPane(['sleep', '100'], { pane })
    expect((await world.pane.look()).pane_id).toBe('%0')
    world.tmux('kill-server')
    await eventually('it is gone', () =>
      world.pane.look().then(
        () => false,
        (error: unknown) => error instanceof PaneGoneError,
      ),
    )
    world.start()
    return world
  }

  test('a pane number from before a restart is refused with the next step', async () => {
    const { pane } = await again('%0')
    const look = pane.look()
    await expect(look).rejects.toThrow(PaneGoneError)
    await expect(look).rejects.toThrow(/%0 may be another pane now.*personas\.NAME\.tmux.*restart/)
    expect((await ring(pane)).answer.proof).toBe('unavailable')
  })

  test('a pane name is valid after a restart', async () => {
    const { pane } = await again('work:0.0')
    expect((await pane.look()).pane_id).toBe('%0')
  })
})

describe('input to a pane', () => {
  async function open() {
    const program = drawingProgram(temporaryDirectory(), 'codex', 'idle')
    const world = openPane(program.argv)
    await world.shows(/Ask Codex/)
    const seen = await world.pane.look()
    return { ...world, ...program, seen }
  }

  test('the doorbell is pasted once in brackets and leaves no buffer', async () => {
    const { pane, seen, got, tmux } = await open()
    expect(await pane.paste(BELL, seen)).toBe(true)
    await eventually('it arrived', () => got() === `\u001b[200~${BELL}\u001b[201~`)
    expect(tmux('list-buffers')).toBe('')
  })

  // Two personas, each with a separate shim; the other rings right after each operation.
  test('the doorbell of a pane is pasted while another pane of the same server is rung', async () => {
    const { seen, got, tmux, socket } = await open()
    const other = drawingProgram(temporaryDirectory(), 'codex', 'idle')
    tmux('new-window', '-d', '-t', 'work:1', ...other.argv)
    const there = tmuxPane({ pane: 'work:1.0', socket }, ask)
    const seenThere = await eventually('the other one is drawn', async () => {
      const look = await there.look()
      return look.lines.join('').includes('Ask Codex') && look
    })
    let rungThere = ''
    const here = tmuxPane({ pane: 'work:0.0', socket }, async (program, args) => {
      const answer = await ask(program, args)
      expect(await there.paste(OTHER_BELL, seenThere)).toBe(true)
      rungThere += `\u001b[200~${OTHER_BELL}\u001b[201~`
      return answer
    })
    expect(await here.paste(BELL, seen)).toBe(true)
    await eventually('it arrived', () => got() === `\u001b[200~${BELL}\u001b[201~`)
    await eventually('the other arrived', () => rungThere !== '' && other.got() === rungThere)
    expect(tmux('list-buffers')).toBe('')
  })

  test('Enter is pressed once if the mark is on the screen', async () => {
    const { pane, seen, got } = await open()
    expect(await pane.enter(seen, '0a1b2c3d')).toBe(false)
    expect(await pane.enter(seen, 'Codex')).toBe(true)
    await eventually('it arrived', () => got() === '\r')
  })

  test.each<[string, (tmux: (...args: string[]) => string) => unknown]>([
    ['a person scrolls', (tmux) => tmux('copy-mode', '-t', 'work:0.0')],
    [
      'keys go to other panes too',
      (tmux) => tmux('set-option', '-w', '-t', 'work', 'synchronize-panes', 'on'),
    ],
    ['the pane takes no input', (tmux) => tmux('select-pane', '-d', '-t', 'work:0.0')],
    ['another program runs in it', (tmux) => tmux('respawn-pane', '-k', '-t', 'work:0.0', 'cat')],
  ])('nothing is typed once %s', async (_, change) => {
    const { pane, seen, got, tmux } = await open()
    change(tmux)
    expect(await pane.paste(BELL, seen)).toBe(false)
    expect(await pane.enter(seen, 'Codex')).toBe(false)
    expect(got()).toBe('')
    expect(tmux('capture-pane', '-p', '-t', 'work:0.0')).not.toContain('turnbell')
    expect(tmux('list-buffers')).toBe('')
  })

  test('nothing is typed once the cursor was moved', async () => {
    const { pane, seen, got } = await open()
    for (const change of [{ cursor_x: seen.cursor_x + 1 }, { cursor_y: seen.cursor_y - 1 }]) {
      expect(await pane.paste(BELL, { ...seen, ...change })).toBe(false)
      expect(await pane.enter({ ...seen, ...change }, 'Codex')).toBe(false)
    }
    expect(got()).toBe('')
  })
})
