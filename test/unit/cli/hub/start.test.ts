import path from 'node:path'
import { expect, test } from 'vitest'
import { startingHub } from '../../../../src/cli/hub/start.ts'
import { resolveHome } from '../../../../src/system/config/home.ts'
import { testCli } from '../../../support/processes/test-cli.ts'

const HERE = path.resolve('/homes/mine')
const { cli } = testCli({ home: HERE, env: { TURNBELL_HOME: HERE } })
const told = (root: string, is_new = false) => startingHub({ cli, home: resolveHome({}, root) }, { is_new })

test('the note about a started hub has the command that stops it', () => {
  expect(told(HERE)).toContain('`turnbell down`')
  expect(told('/homes/it is')).toContain("`turnbell down --home '/homes/it is'`")
})

test('the note about a started hub names a new home', () => {
  expect(told('/homes/mien', true)).not.toBe(told('/homes/mien'))
})
