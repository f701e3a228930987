/**
 * Real clients in a tmux pane, rung by typing, with a real hub and a scripted model, without a network. The
 * assertions use what the model was shown, and that no key was sent at a wrong moment.
 */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { expectOneBellPerTurn } from '../support/clients/conversation.ts'
import { eventually } from '../support/eventually.ts'
import { BELL, scenesOf } from '../support/clients/scene.ts'
import {
  atPrompt,
  CLIENTS_IN_PANES,
  erases,
  listOf,
  openList,
  say,
  types,
} from '../support/clients/tmux-world.ts'
import { describeClient } from '../suites/client.suite.ts'

for (const inPane of CLIENTS_IN_PANES) {
  const name = `${inPane.client} in a tmux pane`
  const open = scenesOf(inPane.tools, inPane.open)
  // The scenes of opencode take longest, and its windows follow the same rules.
  const twin = { tags: inPane.client === 'opencode' ? ['extended'] : [] }

  describeClient(name, {
    always: ['no bell while a tool runs'],
    open,
    async begin(scene) {
      const terminal = await atPrompt(scene, inPane)
      return { say: (text) => say(terminal, text) }
    },
  })

  describe(name, () => {
    test('a client with a draft keeps it and is rung when it is gone', twin, async () => {
      const world = await open()
      const terminal = await atPrompt(world, inPane)
      const draft = 'a thought not yet finished'
      await types(terminal, draft)
      await world.turnIs('unknown')
      const sent = await world.send('one')
      await world.knows(1)
      // `turnbell notify` does not ring either.
      expect(await world.notify()).toMatchObject({ accepted: true, reason: 'mid_turn' })
      expect(terminal.screen()).toContain(draft)
      expect(world.model.shown).toEqual([])
      await erases(terminal, draft)
      await world.settled([sent])
      expectOneBellPerTurn(world.model, ['one'])
      expect(world.model.shown.some(({ fresh }) => fresh.includes(draft))).toBe(false)
    })

    test(
      'a client is not rung during an open permission request, and nothing is permitted',
      { tags: ['extended'] },
      async () => {
        const world = await open({ asks: true })
        const terminal = await atPrompt(world, inPane, true)
        const made = () => fs.existsSync(path.join(world.project, 'asked-for'))
        world.model.next(/make a file/, { tools: [inPane.forbidden] })
        await say(terminal, 'make a file')
        await terminal.shows(inPane.asking)
        const sent = await Promise.all(['1', '2'].map((payload) => world.send(payload)))
        await world.knows(2)
        // The screen is read again before typing and regularly. A ring in progress is deferred first.
        await eventually('the dialog is seen', async () => (await world.notify()).reason === 'mid_turn')
        expect(terminal.screen()).toMatch(inPane.asking)
        expect(world.bells()).toEqual([])
        expect(made()).toBe(false)
        await terminal.answers(inPane.asking, 'Enter')
        await world.settled(sent)
        expectOneBellPerTurn(world.model, ['1', '2'])
        expect(made()).toBe(true)
      },
    )

    test('a client is not rung after its person denied a request, before their next turn', twin, async () => {
      const world = await open({ asks: true })
      const terminal = await atPrompt(world, inPane, true)
      world.model.next(/make a file/, { tools: [inPane.forbidden] })
      await say(terminal, 'make a file')
      await terminal.shows(inPane.asking)
      const sent = await world.send('one')
      await world.knows(1)
      await terminal.answers(inPane.asking, 'Escape')
      await world.turnIs('idle')
      await say(terminal, 'go on')
      await world.settled([sent])
      expectOneBellPerTurn(world.model, ['one'])
      const shown = (what: RegExp) =>
        world.model.shown.findIndex(({ role, fresh }) => role === 'main' && what.test(fresh))
      expect(shown(/go on/)).toBeGreaterThan(-1)
      expect(shown(BELL)).toBeGreaterThan(shown(/go on/))
    })

    test(
      'a client is not rung over a selection list, but when that is closed',
      { tags: ['extended'] },
      async () => {
        const world = await open()
        const terminal = await atPrompt(world, inPane)
        await openList(terminal, inPane)
        await world.turnIs('unknown')
        const before = listOf(terminal, inPane)
        const sent = await world.send('one')
        await world.knows(1)
        await world.notify()
        expect(terminal.screen()).toMatch(inPane.list.shows)
        expect(listOf(terminal, inPane)).toBe(before)
        terminal.press('Escape')
        await world.settled([sent])
        expectOneBellPerTurn(world.model, ['one'])
      },
    )
  })
}
