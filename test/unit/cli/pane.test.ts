/** Which names of a pane `persona add` takes. */
import { describe, expect, test } from 'vitest'
import { paneSettings } from '../../../src/cli/personas/pane.ts'
import type { PersonaSettings } from '../../../src/contracts/config.ts'

const said = (pane: string) => paneSettings({ cwd: '/home/ada' }, { surface: 'tmux', pane }, undefined)

describe('--pane', () => {
  test.each(['%3', 'work:0.1', 'my shop:editor.2', 'work:v1.2.0', '=work:0.1', '$1:@4.0'])(
    'takes %s',
    (pane) => {
      expect(said(pane)).toEqual({ pane })
    },
  )

  // What is meant would change with every look of a person at another window.
  test.each([
    'work',
    'work:',
    'work:0',
    'work:editor',
    'work.0',
    'work:.0',
    ':0.0',
    '0',
    '%',
    '%x',
    'work:0.{last}',
  ])('refuses %s, which may be another pane tomorrow', (pane) => {
    expect(() => said(pane)).toThrow(expect.objectContaining({ code: 'usage_invalid' }))
    expect(() => said(pane)).toThrow(/names no pane of its own/)
  })

  test('leaves alone what stands in the file already', () => {
    const before: PersonaSettings = { surface: 'tmux', tmux: { pane: 'work' } }
    expect(paneSettings({ cwd: '/home/ada' }, { surface: 'tmux', tmuxClient: 'codex' }, before)).toEqual({
      pane: 'work',
      client: 'codex',
    })
  })
})
