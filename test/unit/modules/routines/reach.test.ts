/** The leash, and those who would like to slip it. */
import { describe, expect, test } from 'vitest'
import { addressOf, Leash } from '../../../../src/contracts/leash.ts'
import { createReach } from '../../../../src/modules/routines/reach.ts'
import { NO_LEASH, reachOn } from '../../../support/routine-world.ts'
import { playedOutside } from '../../../support/outside.ts'
import { refusedWith } from '../../../support/small-hub.ts'

const allowsProgram = (exec: string[], argv: string[]) => {
  try {
    reachOn({ exec }).permitProgram(argv)
    return true
  } catch (error) {
    expect(error).toMatchObject({ code: 'leash_forbidden' })
    return false
  }
}
const allowsAddress = (network: string[], url: string) => {
  try {
    reachOn({ network }).permitAddress(new URL(url))
    return true
  } catch (error) {
    expect(error).toMatchObject({ code: 'leash_forbidden' })
    return false
  }
}

describe('a program', () => {
  test.each<[string[], string[]]>([
    [['npm test'], ['npm', 'test']],
    [['npm test'], ['npm', 'test', '--', '--watch']],
    // Without a shell this is only a strange argument.
    [['npm test'], ['npm', 'test', '; rm -rf .']],
    [['git'], ['git', 'status']],
    [['git'], ['git']],
    [
      ['make', 'npm run build'],
      ['npm', 'run', 'build'],
    ],
    [['./check.sh'], ['./check.sh', 'all']],
    [['/usr/bin/env true'], ['/usr/bin/env', 'true']],
  ])('%j allows %j', (exec, argv) => {
    expect(allowsProgram(exec, argv)).toBe(true)
  })

  test.each<[string[], string[]]>([
    [[], ['true']],
    [['npm test'], ['npm']],
    [['npm test'], ['npm', 'run']],
    [['npm test'], ['npm', 'testx']],
    [['npm test'], ['npm', 'tes']],
    [['npm test'], ['npm', 'test;', 'rm']],
    [['npm test'], ['npm', 'test; rm']],
    [['npm test'], ['npm', 'test\n']],
    [['npm test'], ['npm', ' test']],
    [['npm test'], ['npm', '', 'test']],
    [['npm test'], ['npm', '--prefix', '/tmp/evil', 'test']],
    [['npm test'], ['npm test']],
    [['npm test'], ['npm', 'Test']],
    [['npm'], ['NPM', 'test']],
    [['npm'], ['npmx', 'test']],
    [['npm'], ['./npm', 'test']],
    [['npm'], ['/tmp/npm', 'test']],
    [['npm'], ['../npm', 'test']],
    [['npm'], ['bin/../npm']],
    [['npm'], ['npm ']],
    [['npm'], ['npm\0']],
    [['npm'], ['npm;rm']],
    [['npm'], ['sh', '-c', 'npm']],
    [['npm'], ['env', 'npm']],
    [['npm'], ['']],
    [['npm'], []],
    [['./check.sh'], ['check.sh']],
    [['./check.sh'], ['././check.sh']],
    [['./check.sh'], ['./sub/../check.sh']],
    [['/usr/bin/git'], ['git']],
    [['git status'], ['git', '-c', 'core.pager=x', 'status']],
    [['*'], ['npm']],
    [['npm *'], ['npm', 'test']],
  ])('%j does not allow %j', (exec, argv) => {
    expect(allowsProgram(exec, argv)).toBe(false)
  })

  test('that is not allowed is not run, and its caller told what the operator could do', async () => {
    const outside = playedOutside({ program: () => ({}) })
    const reach = reachOn({ exec: ['npm test', 'git'] }, outside)
    const run = { argv: ['npm', 'publish', '--force'], root: '/', cwd: '.', timeout_ms: 100 }
    const refused: unknown = await reach.run(run).catch((error: unknown) => error)
    expect(refused).toMatchObject({
      code: 'leash_forbidden',
      detail: 'The program "npm publish --force" is not on the leash; on it are npm test, git.',
      hint: 'The operator can allow it in config.yaml: leash: { exec: ["npm publish"] }.',
    })
    expect(outside.ran).toEqual([])
    await reach.run({ ...run, argv: ['git', 'log'] })
    expect(outside.ran).toHaveLength(1)
  })
})

describe('an address', () => {
  test.each<[string[], string]>([
    [['example.com'], 'http://example.com/'],
    [['example.com'], 'https://example.com:8443/x'],
    [['example.com:443'], 'https://example.com/'],
    [['example.com:80'], 'http://example.com/'],
    [['Example.COM:8080'], 'http://eXample.com:8080/'],
    [['example.com'], 'http://EXAMPLE.com./'.replace('./', '/')],
    [['127.0.0.1:4000'], 'http://127.0.0.1:4000/'],
    // One address, however it is spelled.
    [['127.0.0.1'], 'http://2130706433/'],
    [['127.0.0.1'], 'http://0x7f.1/'],
    [['::1'], 'http://[::1]:9/'],
    [['[::1]:9'], 'http://[0:0:0:0:0:0:0:1]:9/'],
    [['[2001:DB8::1]'], 'http://[2001:db8:0::1]/'],
    [['bücher.example'], 'http://xn--bcher-kva.example/'],
  ])('%j allows %s', (network, url) => {
    expect(allowsAddress(network, url)).toBe(true)
  })

  test.each<[string[], string]>([
    [[], 'http://example.com/'],
    [['example.com'], 'http://example.com.evil.org/'],
    [['example.com'], 'http://evil-example.com/'],
    [['example.com'], 'http://api.example.com/'],
    [['example.com'], 'http://example.com./'],
    [['example.com'], 'http://evil.org/example.com'],
    [['example.com'], 'http://evil.org/?example.com'],
    [['example.com'], 'http://evil.org/#example.com'],
    [['example.com'], 'http://example.com@evil.org/'],
    [['example.com'], 'http://example.com:80@evil.org/'],
    [['example.com'], 'http://evil.org\\@example.com/'],
    [['example.com:443'], 'http://example.com/'],
    [['example.com:443'], 'https://example.com:444/'],
    [['example.com:80'], 'https://example.com/'],
    [['example.com:8080'], 'http://example.com:80/'],
    [['127.0.0.1'], 'http://localhost/'],
    [['127.0.0.1'], 'http://127.0.0.2/'],
    [['127.0.0.1'], 'http://[::1]/'],
    [['127.0.0.1'], 'http://[::ffff:127.0.0.1]/'],
    [['::1'], 'http://[::2]/'],
    [['[::1]:9'], 'http://[::1]:8/'],
    [['[::1]:9'], 'http://[::1]/'],
    [['example.com'], 'ftp://example.com/'],
    [['example.com'], 'file://example.com/etc/passwd'],
    [['*'], 'http://example.com/'],
    [['*.example.com'], 'http://api.example.com/'],
  ])('%j does not allow %s', (network, url) => {
    expect(allowsAddress(network, url)).toBe(false)
  })

  test('that is not allowed is not asked', async () => {
    const outside = playedOutside({ web: () => ({}) })
    const reach = reachOn({ network: ['a.example:80'] }, outside)
    const request = { url: 'http://b.example/', method: 'GET', headers: {}, timeout_ms: 100 }
    expect(await refusedWith(() => reach.request(request))).toBe('leash_forbidden')
    expect(outside.asked).toEqual([])
    await reach.request({ ...request, url: 'http://a.example/' })
    expect(outside.asked).toHaveLength(1)
  })
})

describe('a secret', () => {
  const outside = playedOutside({ variables: { API_TOKEN: 'value', EMPTY: '' } })

  test('is had by the names on the leash alone', async () => {
    const reach = reachOn({ env: ['API_TOKEN', 'EMPTY', 'UNSET'] }, outside)
    expect(reach.secret('API_TOKEN')).toBe('value')
    for (const name of ['EMPTY', 'UNSET'])
      expect(await refusedWith(() => reach.secret(name))).toBe('params_invalid')
    for (const name of ['PATH', 'api_token', 'API_TOKEN ', '__proto__'])
      expect(await refusedWith(() => reach.secret(name))).toBe('leash_forbidden')
    expect(await refusedWith(() => reachOn({}, outside).secret('API_TOKEN'))).toBe('leash_forbidden')
  })
})

describe('a leash', () => {
  test('that is shortened holds at once', async () => {
    let leash = { ...NO_LEASH, exec: ['make'] }
    const reach = createReach({ ...playedOutside(), leash: () => leash })
    reach.permitProgram(['make'])
    leash = NO_LEASH
    expect(await refusedWith(() => reach.permitProgram(['make']))).toBe('leash_forbidden')
  })

  test('reaches nowhere where nothing is said', () => {
    expect(Leash.parse({})).toEqual(NO_LEASH)
  })

  test.each([
    [{ exec: [''] }],
    [{ exec: [' npm'] }],
    [{ exec: ['npm  test'] }],
    [{ exec: ['npm test '] }],
    [{ exec: ['npm\ttest'] }],
    [{ exec: 'npm' }],
    [{ network: [''] }],
    [{ network: ['*.example.com'] }],
    [{ network: ['http://example.com'] }],
    [{ network: ['example.com/path'] }],
    [{ network: ['user@example.com'] }],
    [{ network: ['example.com:0'] }],
    [{ network: ['example.com:70000'] }],
    [{ network: ['example.com:'] }],
    [{ network: ['example com'] }],
    [{ network: ['[::1'] }],
    [{ network: ['[example.com]'] }],
    [{ network: ['a?b'] }],
    [{ network: ['1.2.3.4.5'] }],
    [{ env: ['A B'] }],
    [{ env: ['A=1'] }],
    [{ env: ['TURNBELL_TOKEN'] }],
    [{ programs: ['npm'] }],
  ])('that says nothing sensible is refused: %j', (said) => {
    expect(Leash.safeParse(said).success).toBe(false)
  })

  test('knows a host, with or without a port', () => {
    expect(addressOf('Example.com')).toEqual({ host: 'example.com', port: null })
    expect(addressOf('example.com:65535')).toEqual({ host: 'example.com', port: 65_535 })
    expect(addressOf('::1')).toEqual({ host: '[::1]', port: null })
    expect(addressOf('[::1]:80')).toEqual({ host: '[::1]', port: 80 })
  })
})
