/** Which pane is looked at: the one that was found first, whatever moves to its place. tmux and ps are played. */
import { describe, expect, test } from 'vitest'
import { PaneGone, tmuxPane, type Ask } from '../../../adapters/tmux/pane.ts'

/** A server with the panes of one session, by their place in it. */
function playedTmux() {
  const world = {
    session: 'work',
    server: '1700000000:7',
    /** By window and pane. */
    panes: new Map([
      ['0.0', '%3'],
      ['0.1', '%4'],
    ]),
    /** The one in front. */
    front: '0.0',
    runs: true,
    psCode: 0 as number | null,
    /** Every target that a screen was taken of, or that was typed into. */
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

  const ask: Ask = async (program, args) => {
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

/** What becomes of a bell: everything that is asked before it is typed. */
async function meant(pane: ReturnType<typeof tmuxPane>): Promise<string> {
  const look = await pane.look()
  await pane.client(look)
  return look.pane_id
}

describe('a pane that was named by its place', () => {
  // tmux moves the others up, and the next pane is another agent's.
  test('is gone once it is closed, though another one has its place now', async () => {
    const { world, pane } = open('work:0.0')
    expect(await meant(pane)).toBe('%3')
    world.panes = new Map([['0.0', '%4']])
    await expect(pane.look()).rejects.toThrow(PaneGone)
    await expect(pane.look()).rejects.toThrow(/%3, which was work:0\.0, is gone.*turnbell resume/)
    pane.forget()
    expect(await meant(pane)).toBe('%4')
  })

  test('is nobody to ring while another one has its place, until somebody says which is meant', async () => {
    const { world, pane } = open('work:0.0')
    expect(await meant(pane)).toBe('%3')
    world.panes = new Map([
      ['0.0', '%4'],
      ['0.1', '%3'],
    ])
    await expect(meant(pane)).rejects.toThrow(PaneGone)
    await expect(meant(pane)).rejects.toThrow(/work:0\.0 was the pane %3, and is %4 now.*turnbell resume/)
    pane.forget()
    expect(await meant(pane)).toBe('%4')
  })

  test('stays what it is where its name means nothing any more', async () => {
    const { world, pane } = open('work:0.0')
    expect(await meant(pane)).toBe('%3')
    world.session = 'shop'
    expect(await meant(pane)).toBe('%3')
  })

  test.each(['work', 'work:0'])('stays what it is where %s means whatever is in front', async (name) => {
    const { world, pane } = open(name)
    expect(await meant(pane)).toBe('%3')
    world.front = '0.1'
    expect(await meant(pane)).toBe('%3')
  })

  // tmux takes the beginning of a name for the name.
  test.each(['shop:0.0', 'shop:0', 'shop'])(
    'is not that of a session with a longer name: %s',
    async (name) => {
      const { world, pane } = open(name)
      world.session = 'shop-bob'
      await expect(pane.look()).rejects.toThrow(PaneGone)
      expect(world.targets).toEqual([])
      world.session = 'shop'
      expect(await meant(pane)).toBe('%3')
    },
  )

  test('is found anew on a server that was started anew', async () => {
    const { world, pane } = open('work:0.0')
    expect(await meant(pane)).toBe('%3')
    world.runs = false
    await expect(pane.look()).rejects.toThrow(PaneGone)
    Object.assign(world, { runs: true, server: '1700009999:8', panes: new Map([['0.0', '%0']]) })
    expect(await meant(pane)).toBe('%0')
    // Its number may be that of another one there.
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

describe('a pane that was named by its number', () => {
  test('is gone once it is closed', async () => {
    const { world, pane } = open('%3')
    expect(await meant(pane)).toBe('%3')
    world.panes = new Map([['0.0', '%4']])
    await expect(pane.look()).rejects.toThrow(PaneGone)
  })

  test('is gone with its server, whether another one has the number or not', async () => {
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

// A machine under load: the client is there all the same.
test('whose pane it is stays open where ps gives no answer', async () => {
  const { world, pane } = open('work:0.0')
  const look = await pane.look()
  world.psCode = null
  const asked = pane.client(look)
  await expect(asked).rejects.toThrow(/ps gave no answer: took too long/)
  await expect(asked).rejects.not.toThrow(PaneGone)
  world.psCode = 1
  expect(await pane.client(look)).toBe('claude-code')
})
