import { describe, expect, test } from 'vitest'
import { concerns, nearness, nearnessTo, sameScope, within } from '../../../../src/modules/memory/scope.ts'

describe('a scope', () => {
  test.each<[string, string, boolean]>([
    ['src/auth/jwt.ts', 'src/auth/', true],
    ['src/auth/jwt.ts', 'src/auth', true],
    ['src/auth/jwt.ts', 'src/auth/jwt.ts', true],
    ['./src/auth/', 'src/auth', true],
    ['src\\auth\\jwt.ts', 'src/auth', true],
    ['src/auth/jwt.ts', 'project', true],
    ['project', 'project', true],
    ['project', 'src/auth/', false],
    ['src/auth/', 'src/auth/jwt.ts', false],
    ['src/authority/', 'src/auth', false],
    ['src/auth', 'src/auth/', true],
    ['AuthService', 'AuthService', true],
    ['AuthServiceTest', 'AuthService', false],
  ])('%s is within %s: %s', (inner, outer, expected) => {
    expect(within(inner, outer)).toBe(expected)
  })

  test('a scope concerns the scopes it contains and those that contain it', () => {
    expect(concerns('src/auth/', 'src/auth/jwt.ts')).toBe(true)
    expect(concerns('src/auth/jwt.ts', 'src/auth/')).toBe(true)
    expect(concerns('project', 'src/auth/jwt.ts')).toBe(true)
    expect(concerns('src/billing/', 'src/auth/')).toBe(false)
  })

  test('spellings of one scope are the same scope', () => {
    expect(sameScope('./src/auth/', 'src/auth')).toBe(true)
    expect(sameScope('.', 'project')).toBe(true)
    expect(sameScope('src/auth', 'src')).toBe(false)
  })

  test('the nearness of two scopes grows with the path they share and is highest for the same scope', () => {
    const asked = 'src/auth/jwt/sign.ts'
    const scopes = ['src/auth/jwt/sign.ts', 'src/auth/jwt/', 'src/auth/', 'src/', 'project', 'src/billing/']
    const near = scopes.map((scope) => nearness(scope, asked))
    expect(near).toEqual([...near].sort((a, b) => b - a))
    expect(new Set(near).size).toBe(near.length)
    expect([near[0], near.at(-1)]).toEqual([1, 0])
    expect(scopes.map(nearnessTo(asked))).toEqual(near)
  })
})
