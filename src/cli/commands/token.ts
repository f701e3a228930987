/** `turnbell token create`: signs a token with this home's key. Needs no hub. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { z } from 'zod'
import { PersonaName, RegistrationKind, SessionId } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { TokenPayload } from '../../contracts/token.ts'
import { describeIssues, TurnbellError } from '../../contracts/errors/errors.ts'
import { FACADES } from '../../facades/all.ts'
import { signToken } from '../../kernel/sign-token.ts'
import { prepareHome } from '../../system/config/home.ts'
import { ensureSecrets } from '../../system/config/secrets.ts'
import { type Cli, invocationOf } from '../cli.ts'
import { knownPersonas, unknownPersonaNote } from '../personas/known.ts'
import { examples } from '../render.ts'
import { parseDuration } from '../duration.ts'

interface Options {
  persona: string
  kind: RegistrationKind
  session?: string
  facet?: string[]
  ttl: number
}

export function registerToken(program: Command, cli: Cli): void {
  const token = program.command('token').description('tokens for programs that call the hub')
  const command = token
    .command('create')
    .description('create a signed token for one persona and one kind of caller')
    .requiredOption('--persona <name>', 'the persona that it acts for', parseAs(PersonaName))
    .addOption(
      new Option('--kind <kind>', 'the kind of caller, which decides what it may do')
        .choices(RegistrationKind.options)
        .makeOptionMandatory(),
    )
    .option(
      '--session <id>',
      'only this session of the agent (any session of the persona)',
      parseAs(SessionId),
    )
    .option('--facet <name...>', 'the groups of tools that it may use (those that the hub exposes)')
    .option('--ttl <duration>', 'its validity: 90s, 30m, 1h, 7d', parseDuration, LIMITS.token_ttl_s)
    .addHelpText(
      'after',
      examples([
        ['turnbell token create --persona ada --kind agent', 'valid for an hour'],
        ['turnbell token create --persona wall --kind observer --ttl 7d', 'for a dashboard'],
      ]),
    )
  command.action(async ({ persona: identity, kind, session, facet, ttl }: Options) => {
    const invocation = invocationOf(cli, command)
    const { home, config, out } = invocation
    if (ttl > LIMITS.token_ttl_s_max) {
      throw new TurnbellError('usage_invalid', {
        detail: `--ttl is ${ttl} s; the maximum is ${LIMITS.token_ttl_s_max} s.`,
        hint: 'Use a shorter --ttl; a client renews its token at the hub.',
      })
    }
    prepareHome(home)
    const { signing_key } = ensureSecrets(home)
    const payload: TokenPayload = {
      tenant_id: config().tenant_id,
      identity,
      kind,
      ...(session === undefined ? {} : { session_id: session }),
      ...(facet === undefined ? {} : { facets: facet }),
      exp: Math.floor(cli.clock.now() / 1000) + ttl,
    }
    const unknown = unknownFacets(facet, config().mcp.expose)
    if (unknown.length > 0)
      out.note(`Unknown facets: ${unknown.join(', ')}. They have no effect unless a plugin adds them.`)
    // The persona of an observer is only a label and need not exist.
    if (kind !== 'observer' && config().personas[identity] === undefined) {
      const known = await knownPersonas(invocation)
      if (!known.includes(identity)) out.note(unknownPersonaNote(identity, known))
    }
    const result = { token: signToken(payload, signing_key), expires_in: ttl }
    await out.result(result, () => result.token)
  })
}

/** Returns facets that are probably misspelt. Exposed facets are accepted, because a plugin may add them. */
function unknownFacets(facets: readonly string[] = [], exposed: readonly string[]): string[] {
  const known = new Set([...FACADES.map(({ facet }) => facet), ...exposed])
  return facets.filter((facet) => !known.has(facet))
}

/** Turns a value that the schema refuses into a usage error. */
function parseAs(schema: z.ZodType<string>): (text: string) => string {
  return (text) => {
    const parsed = schema.safeParse(text)
    if (parsed.success) return parsed.data
    throw new InvalidArgumentError(describeIssues(parsed.error))
  }
}
