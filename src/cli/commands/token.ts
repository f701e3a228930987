/** `turnbell token create`: signs a token with this home's key. Needs no hub. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { z } from 'zod'
import { PersonaName, RegistrationKind, SessionId } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { TokenPayload } from '../../contracts/token.ts'
import { describeIssues, TurnbellError } from '../../contracts/errors.ts'
import { FACADES } from '../../facades/all.ts'
import { signToken } from '../../kernel/sign-token.ts'
import { prepareHome } from '../../system/home.ts'
import { ensureSecrets } from '../../system/secrets.ts'
import { type Cli, invocationOf } from '../cli.ts'
import { knownPersonas, notMade } from '../personas/known.ts'
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
    .description('a signed token for one persona and one kind of caller')
    .requiredOption('--persona <name>', 'as whom it acts', parseAs(PersonaName))
    .addOption(
      new Option('--kind <kind>', 'what it may do').choices(RegistrationKind.options).makeOptionMandatory(),
    )
    .option(
      '--session <id>',
      'the one run of the agent it is for; without it, any of the persona’s runs',
      parseAs(SessionId),
    )
    .option('--facet <name...>', 'what is open to it, instead of what the hub offers to all')
    .option('--ttl <duration>', 'how long it is valid: 90s, 30m, 1h, 7d', parseDuration, LIMITS.token_ttl_s)
    .addHelpText(
      'after',
      examples([
        ['turnbell token create --persona ada --kind agent', 'valid for an hour'],
        ['turnbell token create --persona wall --kind observer --ttl 7d', 'for a screen on the wall'],
      ]),
    )
  command.action(async ({ persona: identity, kind, session, facet, ttl }: Options) => {
    const invocation = invocationOf(cli, command)
    const { home, config, out } = invocation
    if (ttl > LIMITS.token_ttl_s_max) {
      throw new TurnbellError('usage_invalid', {
        detail: `--ttl is ${ttl} s; a token is valid for at most ${LIMITS.token_ttl_s_max} s`,
        hint: 'A client that stays longer renews its token at the hub.',
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
    const strange = unknownFacets(facet, config().mcp.expose)
    if (strange.length > 0)
      out.note(`No facade of turnbell belongs to ${strange.join(', ')}: only a plugin could bring one.`)
    // An observer needs no persona; it only says who looks.
    if (kind !== 'observer' && config().personas[identity] === undefined) {
      const known = await knownPersonas(invocation)
      if (!known.includes(identity)) out.note(notMade(identity, known))
    }
    const result = { token: signToken(payload, signing_key), expires_in: ttl }
    await out.result(result, () => result.token)
  })
}

/** Those that are probably misspelt. What the configuration exposes may be a plugin's. */
function unknownFacets(facets: readonly string[] = [], exposed: readonly string[]): string[] {
  const known = new Set([...FACADES.map(({ facet }) => facet), ...exposed])
  return facets.filter((facet) => !known.has(facet))
}

/** What no hub would accept is a mistake in the command line. */
function parseAs(schema: z.ZodType<string>): (text: string) => string {
  return (text) => {
    const parsed = schema.safeParse(text)
    if (parsed.success) return parsed.data
    throw new InvalidArgumentError(describeIssues(parsed.error))
  }
}
