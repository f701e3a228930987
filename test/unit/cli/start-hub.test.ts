import path from 'node:path'
import { expect, test } from 'vitest'
import { startingHub } from '../../../src/cli/start-hub.ts'
import { resolveHome } from '../../../src/system/home.ts'
import { testCli } from '../../support/test-cli.ts'

const HERE = path.resolve('/homes/mine')
const { cli } = testCli({ home: HERE, env: { TURNBELL_HOME: HERE } })
const told = (root: string, is_new = false) => startingHub({ cli, home: resolveHome({}, root) }, { is_new })

test('whose hub is started is told the command that stops it, with the home where it is not the usual one', () => {
  expect(told(HERE)).toContain('`turnbell down`')
  expect(told('/homes/it is')).toContain("`turnbell down --home '/homes/it is'`")
})

test('a home that nobody has made yet is told apart', () => {
  expect(told('/homes/mien', true)).not.toBe(told('/homes/mien'))
})
