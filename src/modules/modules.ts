/** What facades may ask of the modules. One line per module; the hub's composition root fills it. */
import type { PersonaRegistry } from './registry/personas.ts'
import type { SignalService } from './signals/service.ts'

export interface Modules {
  signals: SignalService
  personas: PersonaRegistry
}
