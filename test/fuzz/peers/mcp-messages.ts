/** Sample messages of MCP clients, in both protocol versions. */
const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'claude-code', version: '2.1.329' },
  'io.modelcontextprotocol/clientCapabilities': { roots: { listChanged: true } },
}

const rpc = (method: string, params: object | undefined, id?: string | number) =>
  JSON.stringify({ jsonrpc: '2.0', ...(id === undefined ? {} : { id }), method, ...(params && { params }) })

const CALLS = [
  {
    name: 'signals',
    arguments: { action: 'send', params: { to: 'bob', intent: 'x', payload: { text: 'x' } } },
  },
  { name: 'signals', arguments: { action: 'pending', params: {} } },
  { name: 'tool_invoke', arguments: { name: 'blackboard_recent', args: { n: 1 } } },
  { name: 'tool_search', arguments: { query: 'lock a file' } },
]

export const INITIALIZE = rpc(
  'initialize',
  { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
  1,
)

export const LEGACY: readonly string[] = [
  INITIALIZE,
  rpc('notifications/initialized', undefined),
  rpc('ping', undefined, 2),
  rpc('tools/list', {}, 3),
  ...CALLS.map((call, at) => rpc('tools/call', { ...call, _meta: { progressToken: at } }, `call-${at}`)),
  rpc('resources/list', {}, 4),
  rpc('resources/templates/list', {}, 5),
  rpc('resources/read', { uri: 'turnbell://signals/ada/pending' }, 6),
  rpc('resources/subscribe', { uri: 'turnbell://signals/ada/pending' }, 7),
  rpc('resources/unsubscribe', { uri: 'turnbell://signals/ada/pending' }, 8),
  rpc('prompts/list', {}, 9),
  rpc('logging/setLevel', { level: 'debug' }, 10),
  rpc(
    'completion/complete',
    { ref: { type: 'ref/prompt', name: 'x' }, argument: { name: 'a', value: 'b' } },
    11,
  ),
  rpc('notifications/cancelled', { requestId: 3, reason: 'no' }),
  JSON.stringify({ jsonrpc: '2.0', id: 3, result: {} }),
  JSON.stringify({ jsonrpc: '2.0', id: 3, error: { code: 1, message: 'x' } }),
]

export const MODERN: readonly { method: string; name?: string; text: string }[] = [
  { method: 'server/discover', text: rpc('server/discover', { _meta: ENVELOPE }, 1) },
  { method: 'tools/list', text: rpc('tools/list', { _meta: ENVELOPE }, 2) },
  ...CALLS.map((call, at) => ({
    ...{ method: 'tools/call', name: call.name },
    text: rpc('tools/call', { ...call, _meta: ENVELOPE }, `call-${at}`),
  })),
  {
    method: 'subscriptions/listen',
    text: rpc(
      'subscriptions/listen',
      { _meta: ENVELOPE, notifications: { toolsListChanged: true } },
      'listen:0',
    ),
  },
  {
    ...{ method: 'resources/read', name: 'turnbell://signals/ada/pending' },
    text: rpc('resources/read', { uri: 'turnbell://signals/ada/pending', _meta: ENVELOPE }, 4),
  },
]
