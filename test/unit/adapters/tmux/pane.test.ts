/** A pane keeps its identity when other panes move. Fakes tmux and ps. */
import { describe, expect, test } from 'vitest'
import { PaneGoneError, tmuxPane, type RunCommand } from '../../../../adapters/tmux/pane.ts'

/** A server with the panes of one session, by position. */
function playedTmux() {
  const world = {
    session: 'work',
    server: '1700000000:7',
    /** By window and pane. */
    panes: new Map([
      ['0.0', '%3'],
      ['0.1', '%4'],
    ]),
    /** The active one. */
    front: '0.0',
    runs: true,
    psCode: 0 as number | null,
    /** Every target that was captured or typed into. */
    targets: [] as string[],
  }

  function paneOf(target: string): string | null {
    if (target.startsWith('%')) return [...world.panes.values()].find((id) => id === target) ?? null
    const [session = '', place = ''] = target.split(':')
    const exact = session.startsWith('=')
    if (exact ? session.slice(1) !== world.session : !world.session.startsWith(session)) return null
    const at = place.replace(/^=/, '')
    return world.panes.get(at.includes('.') ? at : world.front) ?? null
  }

  const answer = (code: number | null, stdout: string, stderr = '') => ({ code, stdout, stderr })

  const ask: RunCommand = async (program, args) => {
    if (program === 'ps') return answer(world.psCode, '1 1 1 claude\n', 'took too long')
    if (!world.runs) return answer(1, '', 'no server running on /tmp/tmux')
    const target = args[args.lastIndexOf('-t') + 1] ?? ''
    if (!args.includes('-t')) return answer(0, `${world.server}\n`)
    const pane_id = paneOf(target)
    if (pane_id === null) return answer(1, '', `can't find pane: ${target}`)
    world.targets.push(target)
    if (args.some((word) => word.includes('pane_tty')))
      return answer(0, `${pane_id} 42 0 2 0 1 000 ${world.server} /dev/pts/7 claude\n❯\n`)
    return answer(0, `${pane_id}\n❯\n`)
  }
  return { world, ask }
}

function open(pane: string) {
  const { world, ask } = playedTmux()
  return { world, pane: tmuxPane({ pane }, ask) }
}

/** Runs all checks before a doorbell is typed. */
async function meant(pane: ReturnType<typeof tmuxPane>): Promise<string> {
  const look = await pane.look()
  await pane.client(look)
  return look.pane_id
}

describe('a pane configured by position', () => {
  // tmux moves the other panes up, and the next pane belongs to another agent.
  test('a pane configured by position is gone when it is closed, even if another one took its position', async () => {
    const { world, pane } = open('work:0.0')
    expect(await meant(pane)).toBe('%3')
    world.panes = new Map([['0.0', '%4']])
    await expect(pane.look()).rejects.toThrow(PaneGoneError)
    await expect(pane.look()).rejects.toThrow(/%3, bound as work:0\.0, no longer exists.*turnbell resume/)
    pane.forget()
    expect(await meant(pane)).toBe('%4')
  })

  test('a pane configured by position is not rung while another one has its position, until `resume`', async () => {
    const { world, pane } = open('work:0.0')
    expect(await meant(pane)).toBe('%3')
    world.panes = new Map([
      ['0.0', '%4'],
      ['0.1', '%3'],
    ])
    await expect(meant(pane)).rejects.toThrow(PaneGoneError)
    await expect(meant(pane)).rejects.toThrow(/work:0\.0 was pane %3 and is now %4.*turnbell resume/)
    pane.forget()
    expect(await meant(pane)).toBe('%4')
  })

  test('a pane stays bound if its name no longer exists', async () => {
    const { world, pane } = open('work:0.0')
    expect(await meant(pane)).toBe('%3')
    world.session = 'shop'
    expect(await meant(pane)).toBe('%3')
  })

  test.each(['work', 'work:0'])('a pane stays bound if the name %s means the active pane', async (name) => {
    const { world, pane } = open(name)
    expect(await meant(pane)).toBe('%3')
    world.front = '0.1'
    expect(await meant(pane)).toBe('%3')
  })

  // tmux also matches prefixes of names.
  test.each(['shop:0.0', 'shop:0', 'shop'])(
    'a pane of a session with a longer name is not bound: %s',
    async (name) => {
      const { world, pane } = open(name)
      world.session = 'shop-bob'
      await expect(pane.look()).rejects.toThrow(PaneGoneError)
      expect(world.targets).toEqual([])
      world.session = 'shop'
      expect(await meant(pane)).toBe('%3')
    },
  )

  test('a pane configured by position is found again on a restarted server', async () => {
    const { world, pane } = open('work:0.0')
    expect(await meant(pane)).toBe('%3')
    world.runs = false
    await expect(pane.look()).rejects.toThrow(PaneGoneError)
    Object.assign(world, { runs: true, server: '1700009999:8', panes: new Map([['0.0', '%0']]) })
    expect(await meant(pane)).toBe('%0')
    // Its number may belong to another pane there.
    Object.assign(world, {
      server: '1700019999:9',
      panes: new Map([
        ['0.0', '%1'],
        ['0.1', '%0'],
      ]),
    })
    expect(await meant(pane)).toBe('%1')
  })
})

describe('a pane configured by number', () => {
  test('a pane configured by number is gone when it is closed', async () => {
    const { world, pane } = open('%3')
    expect(await meant(pane)).toBe('%3')
    world.panes = new Map([['0.0', '%4']])
    await expect(pane.look()).rejects.toThrow(PaneGoneError)
  })

  test('a pane configured by number is gone with its server, even if another pane has its number', async () => {
    const { world, pane } = open('%3')
    expect(await meant(pane)).toBe('%3')
    world.server = '1700009999:8'
    await expect(pane.look()).rejects.toThrow(/%3 may be another pane now/)
    world.panes = new Map([['0.0', '%0']])
    await expect(pane.look()).rejects.toThrow(/%3 may be another pane now/)
    pane.forget()
    world.panes = new Map([['0.0', '%3']])
    expect(await meant(pane)).toBe('%3')
  })
})

// On a loaded machine ps may time out although the client is there.
test('a pane whose client cannot be detected, because ps does not answer, is not gone', async () => {
  const { world, pane } = open('work:0.0')
  const look = await pane.look()
  world.psCode = null
  const asked = pane.client(look)
  await expect(asked).rejects.toThrow(/ps did not answer: took too long/)
  await expect(asked).rejects.not.toThrow(PaneGoneError)
  world.psCode = 1
  expect(await pane.client(look)).toBe('claude-code')
})
