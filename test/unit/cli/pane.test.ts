/** Tests which pane names `persona add` accepts. */
import { describe, expect, test } from 'vitest'
import { paneSettings } from '../../../src/cli/personas/pane.ts'
import type { PersonaSettings } from '../../../src/contracts/config.ts'

const said = (pane: string) => paneSettings({ cwd: '/home/ada' }, { surface: 'tmux', pane }, undefined)

describe('--pane', () => {
  test.each(['%3', 'work:0.1', 'my shop:editor.2', 'work:v1.2.0', '=work:0.1', '$1:@4.0'])(
    '--pane accepts %s',
    (pane) => {
      expect(said(pane)).toEqual({ pane })
    },
  )

  // These names change their meaning when the user switches windows.
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
  ])('--pane refuses %s because it names no fixed pane', (pane) => {
    expect(() => said(pane)).toThrow(expect.objectContaining({ code: 'usage_invalid' }))
  })

  test('--pane keeps the pane of the configuration', () => {
    const before: PersonaSettings = { surface: 'tmux', tmux: { pane: 'work' } }
    expect(paneSettings({ cwd: '/home/ada' }, { surface: 'tmux', tmuxClient: 'codex' }, before)).toEqual({
      pane: 'work',
      client: 'codex',
    })
  })
})
