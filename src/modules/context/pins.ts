/** What every agent of a project is to know from the start. */
import { Pin, PIN_KIND, type PinInput, type UnpinInput } from '../../contracts/context.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { KeptRecord } from '../../contracts/records.ts'
import { inOneProject, type MemoryCall } from '../memory/place.ts'
import { everyRecord } from '../records/every.ts'
import type { Records } from '../records/service.ts'

export type PinRecords = Pick<Records, 'put' | 'get' | 'query' | 'close'>

export interface Pins {
  list(call: MemoryCall): Promise<Pin[]>
  add(call: MemoryCall, input: PinInput): Promise<Pin>
  remove(call: MemoryCall, input: UnpinInput): Promise<Pin>
}

const kind = PIN_KIND.name
const KEY_LENGTH = 64

export function pinsOf(records: PinRecords): Pins {
  const active = (call: MemoryCall): Promise<KeptRecord[]> =>
    everyRecord(records, inOneProject(call), { kind, filter: { status: 'active' }, sort: 'id' })
  return {
    list: async (call) => (await active(call)).map(pinOf),

    async add(call, { key, text }) {
      const known = await active(call)
      const named = key ?? text.replace(/\s+/g, ' ').slice(0, KEY_LENGTH)
      if (known.length >= LIMITS.pins_max && !known.some((pin) => pin['key'] === named)) {
        throw new TurnbellError('limit_reached', {
          detail: `${known.length} texts are pinned, and every agent reads all of them.`,
          hint: 'Take one away with `context unpin`, or post it as a finding.',
        })
      }
      return pinOf(await records.put(inOneProject(call), { kind, record: { key: named, text } }))
    },

    async remove(call, { id, key }) {
      if ((id === undefined) === (key === undefined)) {
        throw new TurnbellError('params_invalid', {
          detail: 'id, key: one of them says which pin is meant.',
          hint: '`context list` shows both.',
        })
      }
      const found = (await active(call)).find((pin) => pin.id === id || pin['key'] === key)
      if (found === undefined) {
        throw new TurnbellError('record_unknown', { detail: `Nothing is pinned as ${id ?? key ?? ''}.` })
      }
      return pinOf(await records.close(inOneProject(call), { kind, id: found.id }))
    },
  }
}

function pinOf(record: KeptRecord): Pin {
  return Pin.parse(record)
}
