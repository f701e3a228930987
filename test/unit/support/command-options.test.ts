import { describe, expect, test } from 'vitest'
import { needDirectory, wholeNumber } from '../../support/command-options.mjs'

describe('what a command is told', () => {
  test.each(['', ' ', '-1', '1.5', 'many', 'Infinity'])('%j is no whole number from 0', (text) => {
    expect(() => wholeNumber('seed', text, 0)).toThrow(
      `--seed: ${JSON.stringify(text)} is no whole number from 0`,
    )
  })

  test('a number is at least so much', () => {
    expect(wholeNumber('steps', '1', 1)).toBe(1)
    expect(() => wholeNumber('steps', '0', 1)).toThrow('--steps: "0" is no whole number from 1')
  })

  test('a directory is there', () => {
    needDirectory('dir', 'test')
    for (const other of ['/nonexistent', 'package.json']) {
      expect(() => needDirectory('dir', other)).toThrow(`--dir: ${other} is no directory`)
    }
  })
})
