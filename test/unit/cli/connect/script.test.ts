import { describe, expect, test } from 'vitest'
import { HASH_MARKS, withoutBlock } from '../../../../src/cli/connect/edit/marked-block.ts'
import { isHollowScript, putScript } from '../../../../src/cli/connect/script.ts'
import { unspliced } from '../../../../src/cli/connect/edit/text-edits.ts'

const BODY = 'turnbell hook post-commit || :'
const BLOCK = `${HASH_MARKS.open}\n${BODY}\n${HASH_MARKS.close}\n`

describe('a block in a script', () => {
  test.each([
    ['nothing', '', `#!/bin/sh\n${BLOCK}`],
    ['a shell script', '#!/bin/sh\necho done\nexit 0\n', `#!/bin/sh\n${BLOCK}echo done\nexit 0\n`],
    ['one of bash', '#!/usr/bin/env bash\nexit\n', `#!/usr/bin/env bash\n${BLOCK}exit\n`],
    ['one with words for its shell', '#! /bin/sh -e\n:\n', `#! /bin/sh -e\n${BLOCK}:\n`],
    ['one that does not say what runs it', 'echo done\n', `${BLOCK}echo done\n`],
    ['only a first line', '#!/bin/sh', `#!/bin/sh\n${BLOCK}`],
  ])('a block is inserted before anything that may exit the script: %s', (_, before, after) => {
    const draft = putScript('post-commit', before, BODY)
    expect(draft.text).toBe(after)
    expect(unspliced(draft.text, draft.splices)).toBe(before)
  })

  test('removing a block from a script keeps the lines around it', () => {
    const { text } = putScript('post-commit', '#!/bin/sh\necho one\n', BODY)
    const edited = text.replace('#!/bin/sh\n', '#!/bin/sh\nset -e\n').replace('one', 'two')
    expect(withoutBlock('post-commit', edited, HASH_MARKS)).toBe('#!/bin/sh\nset -e\necho two\n')
  })

  test.each([
    ['#!/usr/bin/env python3\n', 'python3'],
    ['#!/usr/bin/env -S node --no-warnings\n', 'node'],
    ['#!/usr/bin/fish\n', 'fish'],
    ['#!C:/Program/perl.exe\n', 'perl'],
  ])('a block is refused in a script of another language: %s', (text, language) => {
    expect(() => putScript('post-commit', text, BODY)).toThrow(
      expect.objectContaining({
        code: 'config_invalid',
        detail: expect.stringContaining(`run by ${language},`) as string,
        hint: expect.stringContaining('#!/bin/sh') as string,
      }),
    )
  })

  test('a block of another home is not overwritten', () => {
    const { text } = putScript('post-commit', '', 'other || :')
    expect(() => putScript('post-commit', text, BODY)).toThrow(
      expect.objectContaining({ code: 'connection_taken' }),
    )
  })
})

test.each([
  ['', true],
  ['#!/bin/sh\n', true],
  ['#!/bin/sh\n\n', true],
  ['#!/bin/sh\n# mine\n', false],
  ['echo\n', false],
])('a script %j has no content of the user: %s', (text, hollow) => {
  expect(isHollowScript(text)).toBe(hollow)
})
