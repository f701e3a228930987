import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { MUTANTS } from '../../sim/mutants/list.mjs'

const root = path.resolve(import.meta.dirname, '../../..')

test.each(MUTANTS)('the bug to plant "$name" still fits where it goes', ({ file, find }) => {
  const text = fs.readFileSync(path.join(root, file), 'utf8')
  expect(text.split(find)).toHaveLength(2)
})
