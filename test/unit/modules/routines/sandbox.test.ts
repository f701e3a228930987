/** Tests the sandbox policy against attempts to bypass it. */
import { describe, expect, test } from 'vitest'
import { addressOf, SandboxPolicy } from '../../../../src/contracts/sandbox-policy.ts'
import { createReach } from '../../../../src/modules/routines/sandbox.ts'
import { NO_SANDBOX, reachOn } from '../../../support/worlds/routine-world.ts'
import { playedOutside } from '../../../support/fakes/fake-outside.ts'
import { refusedWith } from '../../../support/worlds/small-hub.ts'

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
    // Without a shell this is only an unusual argument.
    [['npm test'], ['npm', 'test', '; rm -rf .']],
    [['git'], ['git', 'status']],
    [['git'], ['git']],
    [
      ['make', 'npm run build'],
      ['npm', 'run', 'build'],
    ],
    [['./check.sh'], ['./check.sh', 'all']],
    [['/usr/bin/env true'], ['/usr/bin/env', 'true']],
  ])('the policy %j allows the program %j', (exec, argv) => {
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
  ])('the policy %j does not allow the program %j', (exec, argv) => {
    expect(allowsProgram(exec, argv)).toBe(false)
  })

  test('a forbidden program is not run, and the hint names the key for it', async () => {
    const outside = playedOutside({ program: () => ({}) })
    const reach = reachOn({ exec: ['npm test', 'git'] }, outside)
    const run = { argv: ['npm', 'publish', '--force'], root: '/', cwd: '.', timeout_ms: 100 }
    const refused: unknown = await reach.run(run).catch((error: unknown) => error)
    expect(refused).toMatchObject({
      code: 'leash_forbidden',
      detail: 'The program "npm publish --force" is not allowed by sandbox.exec; allowed: npm test, git.',
      hint: 'The operator can allow it in config.yaml: sandbox: { exec: ["npm publish"] }.',
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
    // The same address in different notations.
    [['127.0.0.1'], 'http://2130706433/'],
    [['127.0.0.1'], 'http://0x7f.1/'],
    [['::1'], 'http://[::1]:9/'],
    [['[::1]:9'], 'http://[0:0:0:0:0:0:0:1]:9/'],
    [['[2001:DB8::1]'], 'http://[2001:db8:0::1]/'],
    [['bücher.example'], 'http://xn--bcher-kva.example/'],
  ])('the policy %j allows the address %s', (network, url) => {
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
  ])('the policy %j does not allow the address %s', (network, url) => {
    expect(allowsAddress(network, url)).toBe(false)
  })

  test('a forbidden address is not requested', async () => {
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

  test('only permitted secrets are available', async () => {
    const reach = reachOn({ env: ['API_TOKEN', 'EMPTY', 'UNSET'] }, outside)
    expect(reach.secret('API_TOKEN')).toBe('value')
    for (const name of ['EMPTY', 'UNSET'])
      expect(await refusedWith(() => reach.secret(name))).toBe('params_invalid')
    for (const name of ['PATH', 'api_token', 'API_TOKEN ', '__proto__'])
      expect(await refusedWith(() => reach.secret(name))).toBe('leash_forbidden')
    expect(await refusedWith(() => reachOn({}, outside).secret('API_TOKEN'))).toBe('leash_forbidden')
  })
})

describe('a sandbox policy', () => {
  test('a narrowed policy applies immediately', async () => {
    let sandbox = { ...NO_SANDBOX, exec: ['make'] }
    const reach = createReach({ ...playedOutside(), sandbox: () => sandbox })
    reach.permitProgram(['make'])
    sandbox = NO_SANDBOX
    expect(await refusedWith(() => reach.permitProgram(['make']))).toBe('leash_forbidden')
  })

  test('a policy without entries allows nothing', () => {
    expect(SandboxPolicy.parse({})).toEqual(NO_SANDBOX)
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
  ])('an invalid policy is rejected: %j', (said) => {
    expect(SandboxPolicy.safeParse(said).success).toBe(false)
  })

  test('a policy matches a host with or without a port', () => {
    expect(addressOf('Example.com')).toEqual({ host: 'example.com', port: null })
    expect(addressOf('example.com:65535')).toEqual({ host: 'example.com', port: 65_535 })
    expect(addressOf('::1')).toEqual({ host: '[::1]', port: null })
    expect(addressOf('[::1]:80')).toEqual({ host: '[::1]', port: 80 })
  })
})
