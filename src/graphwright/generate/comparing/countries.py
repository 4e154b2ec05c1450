"""The countries that a text names: by name, by the word for their people, or by a part of them."""

from __future__ import annotations

import re
from functools import cache

__all__ = ["countries", "regions"]

# One country a line: its name, then other names and words for its people. A word in two lines means both.
_COUNTRIES = """
Afghanistan: Afghan
Albania: Albanian
Algeria: Algerian
Andorra: Andorran
Angola: Angolan
Antigua and Barbuda: Antiguan
Argentina: Argentine, Argentinian, Argentinean
Armenia: Armenian
Australia: Australian, New South Wales, Queensland, Tasmania, South Australia, Western Australia
Austria: Austrian
Azerbaijan: Azerbaijani, Azeri
Bahamas: Bahamian
Bahrain: Bahraini
Bangladesh: Bangladeshi
Barbados: Barbadian
Belarus: Belarusian, Belarussian, Byelorussian
Belgium: Belgian, Flemish
Belize: Belizean
Benin: Beninese
Bhutan: Bhutanese
Bolivia: Bolivian
Bosnia and Herzegovina: Bosnia, Bosnian, Republika Srpska
Botswana: Motswana, Botswanan
Brazil: Brazilian
Brunei: Bruneian
Bulgaria: Bulgarian
Burkina Faso: Burkinabé, Burkinabe
Burundi: Burundian
Cambodia: Cambodian
Cameroon: Cameroonian
Canada: Canadian, Québécois, Ontario, Quebec, British Columbia, Alberta, Manitoba, Saskatchewan, Nova Scotia, \
New Brunswick, Newfoundland
Cape Verde: Cape Verdean
Central African Republic: Central African
Chad: Chadian
Chile: Chilean
China: Chinese, People's Republic of China, PRC
Colombia: Colombian
Comoros: Comorian
Congo: Congolese, Zaire
Costa Rica: Costa Rican
Croatia: Croatian, Croat
Cuba: Cuban
Cyprus: Cypriot
Czech Republic: Czech, Czechia, Bohemian
Czechoslovakia: Czechoslovak, Czechoslovakian
Denmark: Danish, Dane
Djibouti: Djiboutian
Dominica: Dominican
Dominican Republic: Dominican
Ecuador: Ecuadorian, Ecuadorean
Egypt: Egyptian
El Salvador: Salvadoran, Salvadorian
Equatorial Guinea: Equatoguinean
Eritrea: Eritrean
Estonia: Estonian
Ethiopia: Ethiopian
Fiji: Fijian
Finland: Finnish, Finn
France: French, Frenchman
Gabon: Gabonese
Gambia: Gambian
Georgia: Georgian
Germany: German, West German, East German, West Germany, East Germany, Prussian, Bavarian
Ghana: Ghanaian
Greece: Greek
Greenland: Greenlandic
Grenada: Grenadian
Guatemala: Guatemalan
Guinea: Guinean
Guinea-Bissau: Bissau-Guinean
Guyana: Guyanese
Haiti: Haitian
Honduras: Honduran
Hong Kong: Hongkonger
Hungary: Hungarian
Iceland: Icelandic, Icelander
India: Indian, Tamil Nadu, Kerala, Karnataka, Maharashtra, West Bengal, Gujarat, Punjab
Indonesia: Indonesian
Iran: Iranian, Persian
Iraq: Iraqi
Ireland: Irish, Irishman
Israel: Israeli
Italy: Italian
Ivory Coast: Ivorian, Côte d'Ivoire
Jamaica: Jamaican
Japan: Japanese
Jordan: Jordanian
Kazakhstan: Kazakh, Kazakhstani
Kenya: Kenyan
Kosovo: Kosovan, Kosovar
Kuwait: Kuwaiti
Kyrgyzstan: Kyrgyz, Kyrgyzstani
Laos: Laotian, Lao
Latvia: Latvian
Lebanon: Lebanese
Lesotho: Basotho
Liberia: Liberian
Libya: Libyan
Liechtenstein: Liechtensteiner
Lithuania: Lithuanian
Luxembourg: Luxembourgish, Luxembourger, Luxembourgian
Macau: Macanese
Macedonia: North Macedonia, Macedonian
Madagascar: Malagasy
Malawi: Malawian
Malaysia: Malaysian, Malaya
Maldives: Maldivian
Mali: Malian
Malta: Maltese
Mauritania: Mauritanian
Mauritius: Mauritian
Mexico: Mexican
Moldova: Moldovan
Monaco: Monégasque, Monegasque
Mongolia: Mongolian
Montenegro: Montenegrin
Morocco: Moroccan
Mozambique: Mozambican
Myanmar: Burma, Burmese
Namibia: Namibian
Nepal: Nepalese, Nepali
Netherlands: Dutch, Dutchman, Holland
New Zealand: New Zealander
Nicaragua: Nicaraguan
Niger: Nigerien
Nigeria: Nigerian
North Korea: North Korean
Norway: Norwegian
Oman: Omani
Pakistan: Pakistani
Palestine: Palestinian
Panama: Panamanian
Papua New Guinea: Papua New Guinean
Paraguay: Paraguayan
Peru: Peruvian
Philippines: Filipino, Filipina, Philippine
Poland: Polish, Pole
Portugal: Portuguese
Puerto Rico: Puerto Rican
Qatar: Qatari
Romania: Romanian
Russia: Russian, Soviet Union, Soviet, USSR
Rwanda: Rwandan
Samoa: Samoan
San Marino: Sammarinese
Saudi Arabia: Saudi, Saudi Arabian
Senegal: Senegalese
Serbia: Serbian, Serb
Seychelles: Seychellois
Sierra Leone: Sierra Leonean
Singapore: Singaporean
Slovakia: Slovak, Slovakian
Slovenia: Slovene, Slovenian
Somalia: Somali
South Africa: South African
South Korea: South Korean, Korean, Republic of Korea
South Sudan: South Sudanese
Spain: Spanish, Spaniard, Catalan, Catalonia
Sri Lanka: Sri Lankan, Ceylon, Ceylonese
Sudan: Sudanese
Suriname: Surinamese
Swaziland: Swazi, Eswatini
Sweden: Swedish, Swede
Switzerland: Swiss
Syria: Syrian
Taiwan: Taiwanese
Tajikistan: Tajik, Tajikistani
Tanzania: Tanzanian
Thailand: Thai
Togo: Togolese
Tonga: Tongan
Trinidad and Tobago: Trinidadian, Trinidad, Tobagonian
Tunisia: Tunisian
Turkey: Turkish, Turk, Ottoman
Turkmenistan: Turkmen
Uganda: Ugandan
Ukraine: Ukrainian
United Arab Emirates: Emirati, UAE
United Kingdom: UK, U.K., British, Briton, Great Britain, England, English, Englishman, Scotland, Scottish, Scots, \
Scotsman, Wales, Welsh, Welshman, Northern Ireland, Northern Irish
United States: U.S., U.S.A., US, USA, American, African-American, United States of America
Uruguay: Uruguayan
Uzbekistan: Uzbek, Uzbekistani
Vanuatu: Ni-Vanuatu
Vatican City: Vatican
Venezuela: Venezuelan
Vietnam: Vietnamese
Yemen: Yemeni
Yugoslavia: Yugoslav, Yugoslavian
Zambia: Zambian
Zimbabwe: Zimbabwean
"""
_STATES = (
    "Alabama, Alaska, Arizona, Arkansas, California, Colorado, Connecticut, Delaware, Florida, Hawaii, Idaho, Illinois,"
    " Indiana, Iowa, Kansas, Kentucky, Louisiana, Maine, Maryland, Massachusetts, Michigan, Minnesota, Mississippi,"
    " Missouri, Montana, Nebraska, Nevada, New Hampshire, New Jersey, New Mexico, New York, North Carolina,"
    " North Dakota, Ohio, Oklahoma, Oregon, Pennsylvania, Rhode Island, South Carolina, South Dakota, Tennessee, Texas,"
    " Utah, Vermont, Virginia, Washington, West Virginia, Wisconsin, Wyoming"
)
# Where a language or a place of birth is named, and no nationality.
_ELSE = (
    r"(?!\s*(?:-\s*)?(?:born|language|speaking)\b|\s*:|\s+(?:for|title|title:|translation|name)\s|\s+(?:Sign|Ocean)\b)"
)
_BETWEEN = re.compile(r"(?:\s*[-–/]\s*|\s+|\s+and\s+(?:an?\s+)?|,\s+)")


def countries(text: str) -> list[tuple[int, int, frozenset[str]]]:
    """Return where a text names countries, and which: words side by side, as in Franco-German names, together.

    Words for a language ("Hindi-language", "French: ...") and for a place of birth ("Danish-born") do not count.

    >>> [(start, sorted(named)) for start, _, named in countries("a Danish-born French and Swiss composer in Ohio")]
    [(14, ['France', 'Switzerland']), (43, ['United States'])]
    """
    pattern, meant = _table()
    found: list[tuple[int, int, frozenset[str]]] = []
    for match in pattern.finditer(text):
        start, end, named = match.start(), match.end(), meant[match[0]]
        if found and _BETWEEN.fullmatch(text, found[-1][1], start):
            # Of "Georgia, United States" only the second is a country.
            place = text[found[-1][1] : start].startswith(",")
            start, named = found[-1][0], named if place else found.pop()[2] | named
            found = found[:-1] if place else found
        found.append((start, end, named))
    return found


def regions(text: str) -> list[tuple[int, int, str]]:
    """Return where a text names states of the United States, and which.

    >>> regions("It runs from West Virginia to Ohio.")
    [(13, 26, 'West Virginia'), (30, 34, 'Ohio')]
    """
    return [(match.start(), match.end(), match[0]) for match in _states().finditer(text)]


@cache
def _table() -> tuple[re.Pattern[str], dict[str, frozenset[str]]]:
    meant: dict[str, frozenset[str]] = dict.fromkeys(_STATES.split(", "), frozenset({"United States"}))
    for line in _COUNTRIES.strip().splitlines():
        country, _, others = line.partition(": ")
        for word in (country, *others.split(", ")):
            meant[word] = meant.get(word, frozenset()) | {country}
    return _any_of(meant, _ELSE), meant


@cache
def _states() -> re.Pattern[str]:
    return _any_of(_STATES.split(", "), r"(?! City\b|, D\.C\.)")


def _any_of(words: dict[str, frozenset[str]] | list[str], after: str) -> re.Pattern[str]:
    # The longest first, so that "New South Wales" is not read as Wales.
    longest = sorted(words, key=lambda word: (-len(word), word))
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest))})(?!\w){after}")
