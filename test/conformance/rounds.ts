/**
 * Tools of protocol version 2026 that need more input from the client: they return a request, and the client calls
 * again with the answer. State in between is sealed and sent along with the client's call.
 */
import { randomBytes } from 'node:crypto'
import {
  acceptedContent,
  CLIENT_CAPABILITIES_META_KEY,
  createRequestStateCodec,
  inputRequired,
  type ClientCapabilities,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { content, text, talking } from './tool.ts'

interface State {
  round: number
  /** Unique for each state. */
  nonce: string
}

const codec = createRequestStateCodec<State>({ key: randomBytes(32) })
export const requestState = {
  verify: (state: string, context: ServerContext) => codec.verify(state, context),
}
const sealed = (round: number) => codec.mint({ round, nonce: randomBytes(8).toString('hex') })

/** Returns a form with one field. */
export function form(message: string, field: string) {
  return inputRequired.elicit({
    message,
    requestedSchema: { type: 'object', properties: { [field]: { type: 'string' } }, required: [field] },
  })
}

const CONFIRM = inputRequired.elicit({
  message: 'Go on?',
  requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
})

const question = (words: string) =>
  inputRequired.createMessage({
    messages: [{ role: 'user', content: { type: 'text', text: words } }],
    maxTokens: 50,
  })

/** Returns the user's input; undefined without one. */
export function filled({ mcpReq }: ServerContext, key: string, field: string): unknown {
  return acceptedContent<Record<string, unknown>>(mcpReq.inputResponses, key)?.[field]
}

const given = ({ mcpReq }: ServerContext, key: string): unknown => mcpReq.inputResponses?.[key]
const done = content(text('Nothing more is needed.'))

const PREFIX = 'test_input_required_result'
export const ROUNDS = [
  talking(`${PREFIX}_elicitation`, 'Needs a name.', (_, context) => {
    const name = filled(context, 'user_name', 'name')
    if (typeof name === 'string') return content(text(`Good day, ${name}.`))
    return inputRequired({ inputRequests: { user_name: form('Your name?', 'name') } })
  }),
  talking(`${PREFIX}_sampling`, "Needs a word of the client's model.", (_, context) => {
    const answer = given(context, 'capital_question')
    if (answer !== undefined) return content(text(JSON.stringify(answer)))
    return inputRequired({ inputRequests: { capital_question: question('The capital of France?') } })
  }),
  talking(`${PREFIX}_list_roots`, "Needs the client's roots.", (_, context) => {
    const answer = given(context, 'client_roots')
    if (answer !== undefined) return content(text(JSON.stringify(answer)))
    return inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } })
  }),
  talking(`${PREFIX}_multiple_inputs`, 'Needs three things at once.', async (_, context) => {
    const keys = ['user_name', 'greeting', 'client_roots']
    if (keys.every((key) => given(context, key) !== undefined)) return done
    return inputRequired({
      inputRequests: {
        user_name: form('Your name?', 'name'),
        greeting: question('Greet somebody.'),
        client_roots: inputRequired.listRoots(),
      },
      requestState: await sealed(1),
    })
  }),
  ...[`${PREFIX}_request_state`, `${PREFIX}_tampered_state`].map((name) =>
    talking(name, 'Needs its own state back, unbroken.', async (_, context) => {
      const back = context.mcpReq.requestState()
      if (back !== undefined && filled(context, 'confirm', 'ok') === true)
        return content(text('state-ok: the state is the one that was given out.'))
      return inputRequired({
        inputRequests: { confirm: CONFIRM },
        requestState: await sealed(1),
      })
    }),
  ),
  talking(`${PREFIX}_multi_round`, 'Needs two things, one after the other.', async (_, { mcpReq }) => {
    const round = mcpReq.requestState<State>()?.round ?? 0
    if (round === 2) return done
    const inputRequests =
      round === 0 ? { step1: form('Your name?', 'name') } : { step2: form('Your colour?', 'color') }
    return inputRequired({ inputRequests, requestState: await sealed(round + 1) })
  }),
  talking(`${PREFIX}_capabilities`, 'Needs only what the client says it can give.', (_, { mcpReq }) => {
    const envelope = mcpReq.envelope as Record<string, ClientCapabilities | undefined> | undefined
    const can = envelope?.[CLIENT_CAPABILITIES_META_KEY]
    return inputRequired({
      inputRequests: {
        ...(can?.elicitation === undefined ? {} : { user_name: form('Your name?', 'name') }),
        ...(can?.sampling === undefined ? {} : { greeting: question('Greet somebody.') }),
      },
    })
  }),
  // The SDK itself rejects a request that the client does not support.
  talking('test_missing_capability', 'Needs sampling of a client that has none.', () =>
    inputRequired({ inputRequests: { pong: question('Say pong.') } }),
  ),
  talking(
    'test_streaming_elicitation',
    'Needs a name, and must not ask for it by a request.',
    (_, context) => {
      const name = filled(context, 'user_name', 'name')
      if (typeof name === 'string') return content(text(`Good day, ${name}.`))
      return inputRequired({ inputRequests: { user_name: form('Your name?', 'name') } })
    },
  ),
]
