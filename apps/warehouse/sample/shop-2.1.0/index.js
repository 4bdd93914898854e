import { button } from '@sample/button';
import { banner } from '@sample/banner';

document.body.append(button());
document.body.insertAdjacentHTML('afterbegin', banner('Welcome'));
